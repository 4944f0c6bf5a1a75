/**
 * Values that a completion has to ask for: names of locks and conventions, targets and ids of running
 * labs. Asked at a Tab: quick, and silent when it fails.
 */
import { defaultLockPatterns } from '../domain/glob.ts';
import type { Listing } from '../backends/backend.ts';
import { parseText } from '../domain/text.ts';
import type { Wanted } from './complete.ts';
import type { Io } from './io.ts';
import { openTarget } from './target-options.ts';

/** Nobody waits longer for a Tab; what was found by then is offered. */
const patienceMs = 1000;
const mostNames = 200;
/** A Tab must not cost a busy server more than a listing at leisure would. */
const recordsPerSecond = 20_000;

/** Candidates for the last of `words`. Never throws. */
export async function askFor(
  wanted: Wanted,
  words: readonly string[],
  io: Io,
): Promise<readonly string[]> {
  const found: string[] = [];
  try {
    if (wanted === 'lock') await gatherLocks(words, io, found);
    else if (wanted === 'convention') found.push(...(await ofConventions(words, io)));
    else if (wanted === 'context') found.push(...(await ofContexts(words, io)));
    else found.push(...(await ofLabs(wanted, io)));
  } catch {
    // No target, a dead server, no permission: a Tab then offers what it has.
  }
  const current = words.at(-1) ?? '';
  return found.filter((value) => value.startsWith(current));
}

async function ofLabs(wanted: Wanted, { env }: Io): Promise<readonly string[]> {
  const { listRecords } = await import('../lab/records.ts');
  const own = listRecords(env).filter(({ owner }) => owner === undefined);
  return own.map(({ id, target }) => (wanted === 'lab' ? id : target));
}

async function ofContexts(words: readonly string[], { env }: Io): Promise<readonly string[]> {
  const { loadContexts } = await import('../config/contexts-file.ts');
  return [...(await loadContexts(valuesOf(words, '--config').at(-1), env)).keys()];
}

/** Every convention by name; a file of own ones that cannot be read adds none. */
async function ofConventions(words: readonly string[], { env }: Io): Promise<readonly string[]> {
  const { allConventions } = await import('../config/catalogue.ts');
  const { loadConventions } = await import('../config/conventions-file.ts');
  const { noConventions } = await import('../conventions/convention-set.ts');
  const own = await loadConventions(valuesOf(words, '--conventions').at(-1), env).catch(
    () => noConventions,
  );
  const titles = new Map(allConventions(own).map(({ id, title }) => [id, title]));
  return [...titles].map(([id, title]) => `${id}\t${title}`);
}

async function gatherLocks(words: readonly string[], io: Io, found: string[]): Promise<void> {
  const current = words.at(-1) ?? '';
  // A wildcard in a half-typed name would ask for other names than it stands for.
  if (/[*?[\]\\]/.test(current)) return;
  const signal = AbortSignal.any([io.signal, AbortSignal.timeout(patienceMs)]);
  const given = valuesOf(words, '--target');
  const context = valuesOf(words, '--context');
  const config = valuesOf(words, '--config').at(-1);
  const passwordFile = valuesOf(words, '--password-file').at(-1);
  const backend = await openTarget(
    {
      ...(given.length === 0 ? {} : { target: given }),
      ...(context.length === 0 ? {} : { context }),
      ...(config === undefined ? {} : { config }),
      ...(passwordFile === undefined ? {} : { passwordFile }),
      connectTimeout: patienceMs,
      timeout: patienceMs,
    },
    io,
  );
  const query = {
    pattern: parseText(`${current}*`),
    lockPatterns: defaultLockPatterns,
    all: false,
    conventions: undefined,
    ratePerSecond: recordsPerSecond,
  };
  // Not waited for beyond the limit, whatever the server does: the process ends with the answer.
  const late = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => {
      resolve();
    });
  });
  await Promise.race([gather(backend.list(query, signal), found), late]);
}

async function gather({ locks }: Listing, found: string[]): Promise<void> {
  for await (const { ref } of locks) {
    found.push(ref.name);
    if (found.length >= mostNames) return;
  }
}

/** What the words give an option, in either form. */
function valuesOf(words: readonly string[], option: string): readonly string[] {
  return words.flatMap((word, at) => {
    if (word === option) return words.slice(at + 1, at + 2);
    return word.startsWith(`${option}=`) ? [word.slice(option.length + 1)] : [];
  });
}
