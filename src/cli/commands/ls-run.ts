/** The work of `ls`: one listing after another, streamed in the form asked for. */
import type { Backend, Listing, LockQuery } from '../../backends/backend.ts';
import { loadConventions } from '../../config/conventions-file.ts';
import { exitCodes, type ExitCode } from '../../domain/errors.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import { parseText } from '../../domain/text.ts';
import { serverWarnings, summaryLines, type ListSummary } from '../../reports/locks-list.ts';
import { needsAttention } from '../../reports/locks-words.ts';
import { reportError } from '../exit.ts';
import type { Io } from '../io.ts';
import { lineWriter, progressOn, type Progress } from '../output.ts';
import { openTargets, type TargetOptions } from '../target-options.ts';
import { openListing, type ListingSink } from './ls-output.ts';

export interface ListOptions extends TargetOptions {
  readonly all?: boolean;
  readonly pattern?: readonly string[];
  readonly convention?: readonly string[];
  readonly state?: readonly string[];
  readonly rate?: number;
  readonly limit?: number;
  readonly headers: boolean;
  readonly output: string;
}

const defaultLockPatterns = ['*lock*', '*mutex*', '*lease*', '*leader*'];

/**
 * Lists the locks of every target. A target that fails is told on stderr and does not stop the
 * others; the exit code is then that of the last failure.
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
  const backends = await openTargets(options, io);
  const progress = progressOn(io);
  const writer = lineWriter(io);
  const sink = await openListing(options, io, {
    writer,
    progress,
    withTarget: backends.length > 1,
  });
  const totals = new Totals(options);
  let code: ExitCode = exitCodes.ok;
  try {
    for (const backend of backends) {
      try {
        await listOne(backend, queryOf(pattern, options), { options, io, sink, totals, progress });
      } catch (error) {
        if (backends.length === 1 || io.signal.aborted) throw error;
        progress.clear();
        code = reportError(error, io);
        totals.miss(backend.display);
      }
    }
    await sink.end(totals.summary());
  } finally {
    await sink.flush();
    progress.clear();
    await writer.end();
    await Promise.allSettled(backends.map((backend) => backend.close()));
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
    withoutLeases: options.output === 'name',
  };
}

interface ListContext {
  readonly options: ListOptions;
  readonly io: Io;
  readonly sink: ListingSink;
  readonly totals: Totals;
  readonly progress: Progress;
}

async function listOne(backend: Backend, query: LockQuery, context: ListContext): Promise<void> {
  const { options, io, sink, totals, progress } = context;
  const listing = backend.list(query, io.signal);
  const ticker = setInterval(() => {
    progress.show(`${listing.tally.read.toLocaleString('en')} records read…`);
  }, 500);
  const warned = new Set<string>();
  try {
    for await (const lock of listing.locks) {
      warnOfServer(lock, warned, context);
      if (options.state?.includes(lock.state) === false) continue;
      if (totals.full()) break;
      totals.count(lock);
      await sink.lock({ target: backend.display, lock });
    }
  } finally {
    clearInterval(ticker);
    totals.add(listing);
    sink.endOfTarget();
  }
}

/** Once for each sentence: it is true of many rows. */
function warnOfServer(
  lock: LockSnapshot,
  warned: Set<string>,
  { io, progress }: ListContext,
): void {
  const { replicaOf, doubts } = lock.server;
  if (replicaOf === undefined && doubts === undefined) return;
  for (const warning of serverWarnings(lock.server)) {
    if (warned.has(warning)) continue;
    warned.add(warning);
    progress.clear();
    io.err(`${warning}\n`);
  }
}

/** Counters over all targets. */
class Totals {
  readonly #startedMs = performance.now();
  readonly #limit: number;
  readonly #all: boolean;
  readonly #holes: string[] = [];
  #locks = 0;
  #needAttention = 0;
  #read = 0;
  #others = 0;
  #hidden = 0;
  #limited = false;

  constructor(options: ListOptions) {
    this.#limit = options.limit ?? Infinity;
    this.#all = options.all ?? false;
  }

  /** Asked with one more lock at hand: true means that it must be left out. */
  full(): boolean {
    this.#limited = this.#locks >= this.#limit;
    return this.#limited;
  }

  count(lock: LockSnapshot): void {
    this.#locks += 1;
    if (needsAttention(lock)) this.#needAttention += 1;
  }

  add({ tally }: Listing): void {
    this.#read += tally.read;
    this.#others += tally.others;
    this.#hidden += tally.hidden;
    this.#holes.push(...tally.holes);
  }

  /** A target that failed, whatever of it was listed before. */
  miss(target: string): void {
    this.#holes.push(`nothing of ${target}, or not all: reading it failed`);
  }

  summary(): ListSummary {
    return {
      locks: this.#locks,
      needAttention: this.#needAttention,
      read: this.#read,
      others: this.#others,
      hidden: this.#hidden,
      holes: this.#holes,
      elapsedMs: performance.now() - this.#startedMs,
      limited: this.#limited,
      all: this.#all,
    };
  }
}
