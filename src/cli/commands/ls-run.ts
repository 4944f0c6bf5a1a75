/** The work of `ls`: one listing after another, streamed in the form asked for. */
import type { Backend, LockQuery } from '../../backends/backend.ts';
import { loadConventions } from '../../config/conventions-file.ts';
import { exitCodes, UsageError, type ExitCode } from '../../domain/errors.ts';
import { defaultLockPatterns } from '../../domain/glob.ts';
import { parseText } from '../../domain/text.ts';
import { summaryLines } from '../../reports/locks-list.ts';
import { reportError } from '../exit.ts';
import type { Io } from '../io.ts';
import { lineWriter, progressOn, type Progress } from '../output.ts';
import { openTargets } from '../target-options.ts';
import { openListing, serverWarner, type ListingSink } from './ls-output.ts';
import type { ListOptions } from './ls-options.ts';
import type { SavedListing } from './ls-save.ts';
import { Totals } from './ls-totals.ts';

/**
 * Lists the locks of every target, or those of a capture. A target that fails is told on stderr and
 * does not stop the others; the exit code is then that of the last failure.
 */
export async function listLocks(
  pattern: string | undefined,
  options: ListOptions,
  io: Io,
): Promise<ExitCode> {
  if (options.convention !== undefined) {
    const { checkConventionNames } = await import('../../config/catalogue.ts');
    checkConventionNames(options.convention, await loadConventions(options.conventions, io.env));
  }
  if (options.force === true && options.save === undefined) {
    throw new UsageError('--force lets --save replace a file, and there is no --save', {
      code: 'force-without-save',
      hint: 'leave it out, or add --save FILE',
      definite: true,
    });
  }
  if (options.diff !== undefined) {
    const { diffLocks } = await import('./ls-diff.ts');
    return diffLocks(options.diff, pattern, options, io);
  }
  if (options.from === undefined) return listTargets(pattern, options, io);
  const { listCapture } = await import('./ls-from.ts');
  return listCapture(options.from, pattern, options, io);
}

async function listTargets(
  pattern: string | undefined,
  options: ListOptions,
  io: Io,
): Promise<ExitCode> {
  const backends = await openTargets(options, io);
  const query = queryOf(pattern, options);
  try {
    if (options.save === undefined) return await listAll(backends, query, { options, io });
    const { saving } = await import('./ls-save.ts');
    return await saving(options.save, { options, query, backends, io }, (save) =>
      listAll(backends, query, { options, io, save }),
    );
  } finally {
    await Promise.allSettled(backends.map((backend) => backend.close()));
  }
}

interface Listing {
  readonly options: ListOptions;
  readonly io: Io;
  readonly save?: SavedListing;
}

async function listAll(
  backends: readonly Backend[],
  query: LockQuery,
  listing: Listing,
): Promise<ExitCode> {
  const { options, io, save } = listing;
  const progress = progressOn(io);
  const writer = lineWriter(io);
  const place = { writer, progress, withTarget: backends.length > 1 };
  const sink = await openListing(options, io, place);
  const totals = new Totals(options);
  let code: ExitCode = exitCodes.ok;
  try {
    for (const [index, backend] of backends.entries()) {
      try {
        await listOne({ backend, index }, query, { ...listing, sink, totals, progress });
      } catch (error) {
        if (backends.length === 1 || io.signal.aborted || save?.failed === true) throw error;
        progress.clear();
        code = reportError(error, io);
        totals.miss(backend.display);
        save?.miss(index);
      }
    }
    await sink.end(totals.summary());
  } finally {
    await sink.flush();
    progress.clear();
    await writer.end();
  }
  for (const line of summaryLines(totals.summary())) io.err(`${line}\n`);
  return code;
}

function queryOf(pattern: string | undefined, options: ListOptions): LockQuery {
  return {
    pattern: pattern === undefined ? undefined : parseText(pattern),
    lockPatterns: options.pattern ?? defaultLockPatterns,
    all: options.all ?? false,
    conventions: options.convention,
    ratePerSecond: options.rate,
    withoutLeases: options.output === 'name' && options.save === undefined,
  };
}

interface ListContext extends Listing {
  readonly sink: ListingSink;
  readonly totals: Totals;
  readonly progress: Progress;
}

/** `index` is its place among the targets. */
async function listOne(
  { backend, index }: { readonly backend: Backend; readonly index: number },
  query: LockQuery,
  context: ListContext,
): Promise<void> {
  const { options, io, sink, totals, progress, save } = context;
  const listing = backend.list(query, io.signal);
  const ticker = setInterval(() => {
    progress.show(`${listing.tally.read.toLocaleString('en')} records read…`);
  }, 500);
  const warn = serverWarner(io, progress);
  try {
    for await (const lock of listing.locks) {
      warn(lock);
      await save?.lock(lock, index);
      if (options.state?.includes(lock.state) === false) continue;
      if (totals.full()) break;
      totals.count(lock);
      await sink.lock({ target: backend.display, lock });
    }
  } finally {
    clearInterval(ticker);
    totals.add(listing.tally);
    save?.add(index, listing.tally);
    sink.endOfTarget();
  }
}
