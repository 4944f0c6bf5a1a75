/** `ls --save`: the listing goes to a capture as well, every lock of it and what it went through. */
import type { Backend, ListTally, LockQuery } from '../../backends/backend.ts';
import type { CapturedTarget, CaptureTally } from '../../domain/capture.ts';
import { CaptureWriter } from '../../captures/write-capture.ts';
import { exitCodes, FencepostError, UsageError, type ExitCode } from '../../domain/errors.ts';
import { unknown } from '../../domain/known.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import type { Io } from '../io.ts';
import { version } from '../version.ts';
import type { ListOptions } from './ls-options.ts';
import { missed } from './ls-totals.ts';

export interface SavedFrom {
  readonly options: ListOptions;
  readonly query: LockQuery;
  readonly backends: readonly Backend[];
  readonly io: Io;
}

/**
 * Runs `list`, which hands over all that it lists, and gives the capture its name when that has
 * ended. A listing that was interrupted or failed altogether leaves no file.
 * @throws {UsageError} `partial-capture`, `capture-exists`, `unwritable-capture`
 */
export async function saving(
  file: string,
  from: SavedFrom,
  list: (save: SavedListing) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { options, query, backends, io } = from;
  checkWhole(options);
  const writer = await CaptureWriter.create(file, options.force ?? false);
  try {
    const { pattern, lockPatterns, all, conventions } = query;
    writer.begin({
      takenAt: new Date().toISOString(),
      tool: `fencepost ${version()}`,
      query: {
        ...(pattern === undefined ? {} : { pattern }),
        lockPatterns,
        all,
        ...(conventions === undefined ? {} : { conventions }),
      },
      targets: await Promise.all(backends.map((backend) => capturedTarget(backend, io))),
    });
    const save = new SavedListing(writer, backends);
    const code = await list(save);
    if (io.signal.aborted) return code;
    await writer.finish(save.tallies);
    const lacking = code === exitCodes.ok ? '' : ', without what failed';
    io.err(`saved ${count(save.locks)} to ${file}${lacking}\n`);
    return code;
  } finally {
    await writer.abandon();
    if (io.signal.aborted)
      io.err(`nothing was saved to ${file}: the listing did not come to its end\n`);
  }
}

/** Takes what a listing gives, target by target. */
export class SavedListing {
  readonly #writer: CaptureWriter;
  readonly #backends: readonly Backend[];
  readonly #tallies = new Map<number, CaptureTally>();
  /** The file could not be written: no other target helps. */
  failed = false;
  locks = 0;

  constructor(writer: CaptureWriter, backends: readonly Backend[]) {
    this.#writer = writer;
    this.#backends = backends;
  }

  async lock(lock: LockSnapshot, target: number): Promise<void> {
    this.locks += 1;
    try {
      await this.#writer.lock(lock, target);
    } catch (error) {
      this.failed = true;
      throw error;
    }
  }

  add(target: number, { read, others, hidden, holes }: ListTally): void {
    this.#tallies.set(target, { target, read, others, hidden, holes: [...holes] });
  }

  /** A target that could not be read to its end. */
  miss(target: number): void {
    const tally = this.#tallies.get(target) ?? { target, read: 0, others: 0, hidden: 0, holes: [] };
    const hole = missed(this.#backends[target]?.display ?? '');
    this.#tallies.set(target, { ...tally, holes: [...tally.holes, hole] });
  }

  get tallies(): readonly CaptureTally[] {
    return [...this.#tallies.values()];
  }
}

function count(locks: number): string {
  return `${locks.toLocaleString('en')} lock${locks === 1 ? '' : 's'}`;
}

/** A capture that left locks out would later tell that they are gone. */
function checkWhole({ state, limit }: ListOptions): void {
  const flag = state === undefined ? (limit === undefined ? undefined : '--limit') : '--state';
  if (flag === undefined) return;
  throw new UsageError(`${flag} would leave locks out of the capture`, {
    code: 'partial-capture',
    hint: `save all of them, and give ${flag} when reading: fencepost ls --from FILE ${flag} …`,
    definite: true,
  });
}

/** A server that tells nothing about itself is listed all the same. */
async function capturedTarget(backend: Backend, io: Io): Promise<CapturedTarget> {
  const about = { display: backend.display, backend: backend.kind };
  try {
    const { version: server, topology, clusterId } = await backend.probe(io.signal);
    return { ...about, version: server, topology, clusterId };
  } catch (error) {
    if (!(error instanceof FencepostError) || io.signal.aborted) throw error;
    const hole = unknown(error.message);
    return { ...about, version: hole, topology: hole, clusterId: hole };
  }
}
