/** The work of `show`: read the lock, watch its lease, read its latest fences, render. */
import type { Backend } from '../../backends/backend.ts';
import { exitCodes, FencepostError, LockChanged, type ExitCode } from '../../domain/errors.ts';
import { formatDuration } from '../../domain/duration.ts';
import type { FenceRecord } from '../../domain/fence.ts';
import { unknown } from '../../domain/known.ts';
import type { RenewalSample } from '../../domain/lease.ts';
import { judgeLiveness } from '../../domain/liveness.ts';
import type { LockDetail, LockRef } from '../../domain/lock.ts';
import { shellQuote } from '../../reports/escape.ts';
import { toJsonLine, toJsonText } from '../../reports/json.ts';
import { detailJson, fenceRecordJson } from '../../reports/locks-json.ts';
import { showText, type ShownHistory, type ShownLock } from '../../reports/locks-show.ts';
import type { Io } from '../io.ts';
import { lockRef, refFlags, type LockRefOptions } from '../lock-ref.ts';
import { paintFor, progressOn } from '../output.ts';
import { targetFlag, withTarget, type TargetOptions } from '../target-options.ts';

export interface ShowOptions extends TargetOptions, LockRefOptions {
  /** Milliseconds, or a word. */
  readonly observe: number | 'auto' | 'off';
  readonly output: string;
}

const shownRecords = 5;

/**
 * Shows one lock.
 * @throws {LockChanged} `no-such-lock` when there is nothing of that name
 * @throws {UsageError} `wrong-type` when the forced layout cannot be this record
 */
export function showLock(name: string, options: ShowOptions, io: Io): Promise<ExitCode> {
  return withTarget(options, io, async (backend) => {
    const ref = lockRef(name, options);
    const lock = await backend.inspect(ref, io.signal);
    if (lock === undefined) throw noSuchLock(ref, backend);
    if (options.output === 'name') {
      await io.out(`${lock.ref.name}\n`);
      return exitCodes.ok;
    }
    const sample = await watchLease(backend, lock, options, io);
    const history = await latestFences(backend, ref, io.signal);
    await render({ lock, sample, history }, backend, options, io);
    return exitCodes.ok;
  });
}

function noSuchLock(ref: LockRef, backend: Backend): LockChanged {
  return new LockChanged(`"${ref.name}": no such lock on ${backend.display}`, {
    code: 'no-such-lock',
    hint: 'it was released, it expired, or the name is another; `fencepost ls` lists what is there',
    definite: true,
  });
}

async function watchLease(
  backend: Backend,
  lock: LockDetail,
  options: ShowOptions,
  io: Io,
): Promise<RenewalSample | undefined> {
  if (options.observe === 'off' || lock.identity === undefined) return undefined;
  const progress = progressOn(io);
  try {
    return await backend.sample(lock, options.observe, io.signal, (elapsedMs, totalMs) => {
      progress.show(
        `watching the lease: ${formatDuration(elapsedMs)} of ${formatDuration(totalMs)}…`,
      );
    });
  } finally {
    progress.clear();
  }
}

/** The newest few fences. A history that cannot be read is a hole to name, not a reason to show nothing. */
async function latestFences(
  backend: Backend,
  ref: LockRef,
  signal: AbortSignal,
): Promise<ShownHistory> {
  const history = backend.history(ref, signal);
  const records: FenceRecord[] = [];
  let total = 0;
  try {
    for await (const record of history.records) {
      total += 1;
      records.push(record);
      if (records.length > shownRecords) records.shift();
    }
  } catch (error) {
    if (!(error instanceof FencepostError) || signal.aborted) throw error;
    return { records, total, complete: unknown(error.message, error.hint) };
  }
  return { records, total, complete: history.completeness() };
}

async function render(
  seen: Pick<ShownLock, 'lock' | 'sample' | 'history'>,
  backend: Backend,
  options: ShowOptions,
  io: Io,
): Promise<void> {
  const { lock, sample, history } = seen;
  const liveness = lock.identity === undefined ? undefined : judgeLiveness(lock.evidence, sample);
  if (options.output === 'text') {
    const releaseCommand = nextCommand(lock, options);
    const lines = await showText({ ...seen, liveness, releaseCommand }, await paintFor(io));
    await io.out(lines.map((line) => `${line}\n`).join(''));
    return;
  }
  const document = detailJson(lock, backend.display, liveness, sample, {
    complete: history.complete,
    total: history.total,
    records: history.records.map(fenceRecordJson),
  });
  const form = options.output === 'json' ? toJsonText : toJsonLine;
  await io.out(`${form(document)}\n`);
}

/** What to type to release exactly the grant that was shown; undefined where nothing can be released. */
function nextCommand(lock: LockDetail, options: ShowOptions): string | undefined {
  if (lock.identity === undefined) return undefined;
  const { name } = lock.ref;
  // A name that looks like an option stands last, behind the end of the options.
  const [before, after] = name.startsWith('-')
    ? [[], ['--', shellQuote(name)]]
    : [[shellQuote(name)], []];
  return [
    'fencepost release',
    ...before,
    ...targetFlag(options),
    ...refFlags(options, lock.ref),
    '--expect',
    shellQuote(lock.identity.expect),
    '--reason "…"',
    ...after,
  ].join(' ');
}
