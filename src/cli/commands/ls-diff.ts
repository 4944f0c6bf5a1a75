/** `ls --diff`: which locks changed hands since a capture, compared with a target or a later capture. */
import type { LockQuery } from '../../backends/backend.ts';
import { openCapture, type Capture } from '../../captures/read-capture.ts';
import type { CaptureFacts } from '../../domain/capture.ts';
import { exitCodes, UsageError, type ExitCode } from '../../domain/errors.ts';
import { valueOf, type Known } from '../../domain/known.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import { parseText } from '../../domain/text.ts';
import { schemaVersion, toJsonLine, toJsonText } from '../../reports/json.ts';
import { captureOrigin, captureSentence } from '../../reports/locks-capture.ts';
import { ColumnLayout, type Column } from '../../reports/table.ts';
import { compareLooks, type LockChange } from '../../watch/changes.ts';
import { diffSentence, isToldInDiff } from '../../watch/diff-words.ts';
import { nothingSeen, type Observation } from '../../watch/observation.ts';
import type { Io } from '../io.ts';
import { lineWriter } from '../output.ts';
import { openTargets } from '../target-options.ts';
import { lockFilter, refuseLiveOptions } from './ls-from.ts';
import type { ListOptions } from './ls-options.ts';

/** All locks of one target at one time. */
interface Side {
  readonly target: string;
  readonly atMs: number;
  readonly locks: LockSnapshot[];
  readonly clusterId: Known<string>;
  readonly holes: string[];
}

type Filter = (lock: LockSnapshot) => boolean;

/**
 * Tells what changed since the capture `file`, one line a change. Nothing changed is an answer.
 * @throws {UsageError} options that do not fit; a file that is no whole capture
 */
export async function diffLocks(
  file: string,
  pattern: string | undefined,
  options: ListOptions,
  io: Io,
): Promise<ExitCode> {
  refuseUnfit(options);
  const capture = await openCapture(file);
  const fits = lockFilter(pattern, options);
  const before = await capturedSides(capture, fits);
  io.err(`since the ${captureSentence(captureOrigin(capture.header, Date.now()))}\n`);
  const after =
    options.from === undefined
      ? await liveSides(capture.header, pattern, options, io)
      : await laterSides(options.from, fits, io);
  const pairs = pairUp(before, after, io);
  const changes = pairs.flatMap(([old, now]) => changesBetween(old, now));
  await print(changes, options, io);
  const compared = pairs.reduce((sum, [, { locks }]) => sum + locks.length, 0);
  for (const hole of pairs.flatMap((pair) => pair.flatMap(({ holes }) => holes))) {
    io.err(`incomplete: ${hole}\n`);
  }
  const locks = new Set(changes.map(({ target, lock }) => `${target}\t${lock}`)).size;
  io.err(`${locks} changed · ${compared} there\n`);
  return exitCodes.ok;
}

function refuseUnfit(options: ListOptions): void {
  if (options.from !== undefined) refuseLiveOptions(options);
  const flag =
    (options.save !== undefined && '--save') ||
    (options.state !== undefined && '--state') ||
    (options.limit !== undefined && '--limit') ||
    (options.pattern !== undefined && '--pattern');
  if (flag === false) return;
  throw new UsageError(`${flag} cannot be had together with --diff`, {
    code: 'unfit-for-diff',
    hint: 'leave one of them out; a PATTERN and --convention choose what is compared',
    definite: true,
  });
}

async function capturedSides(capture: Capture, fits: Filter): Promise<readonly Side[]> {
  const { targets, takenAt } = capture.header;
  const sides = targets.map(({ display, clusterId }): Side => {
    return { target: display, atMs: Date.parse(takenAt), locks: [], clusterId, holes: [] };
  });
  for await (const { target, lock } of capture.locks) {
    if (fits(lock)) sides[targets.indexOf(target)]?.locks.push(lock);
  }
  for (const { target, holes } of capture.end()?.tallies ?? []) sides[target]?.holes.push(...holes);
  return sides;
}

async function laterSides(file: string, fits: Filter, io: Io): Promise<readonly Side[]> {
  const capture = await openCapture(file);
  io.err(`until the ${captureSentence(captureOrigin(capture.header, Date.now()))}\n`);
  return capturedSides(capture, fits);
}

/** Asked as the capture was, or locks that it left out would seem to be new. */
async function liveSides(
  { query }: CaptureFacts,
  pattern: string | undefined,
  options: ListOptions,
  io: Io,
): Promise<readonly Side[]> {
  const backends = await openTargets(options, io);
  const asked: LockQuery = {
    pattern: pattern === undefined ? query.pattern : parseText(pattern),
    lockPatterns: query.lockPatterns,
    all: query.all,
    conventions: options.convention ?? query.conventions,
    ratePerSecond: options.rate,
  };
  const fits = lockFilter(undefined, options);
  const sides: Side[] = [];
  try {
    for (const backend of backends) {
      const { clusterId } = await backend.probe(io.signal);
      const listing = backend.list(asked, io.signal);
      const locks: LockSnapshot[] = [];
      for await (const lock of listing.locks) if (fits(lock)) locks.push(lock);
      const holes = [...listing.tally.holes];
      sides.push({ target: backend.display, atMs: Date.now(), locks, clusterId, holes });
    }
  } finally {
    await Promise.allSettled(backends.map((backend) => backend.close()));
  }
  return sides;
}

/** One target is compared with one target, whatever it was called; several by their names. */
function pairUp(
  before: readonly Side[],
  after: readonly Side[],
  io: Io,
): readonly (readonly [Side, Side])[] {
  const only = before.length === 1 && after.length === 1;
  const pairs = after.flatMap((now) => {
    const old = only ? before[0] : before.find(({ target }) => target === now.target);
    if (old === undefined) io.err(`not compared: ${now.target} is not in the capture\n`);
    return old === undefined ? [] : [[old, now] as const];
  });
  for (const { target } of before.filter((old) => !pairs.some(([one]) => one === old))) {
    io.err(`not compared: ${target} is only in the capture\n`);
  }
  for (const [old, now] of pairs) {
    const [was, is] = [valueOf(old.clusterId), valueOf(now.clusterId)];
    if (was !== undefined && is !== undefined && was !== is) {
      io.err(`${now.target} is another server than in the capture, or was restarted\n`);
    }
    if (now.atMs < old.atMs) io.err('the later capture is the older one: changes run backwards\n');
  }
  return pairs;
}

function changesBetween(old: Side, now: Side): readonly LockChange[] {
  const { memory } = compareLooks(nothingSeen, lookOf(old));
  const { changes } = compareLooks(memory, lookOf(now));
  return changes.flatMap((change) =>
    change.kind !== 'gap' && isToldInDiff(change) ? [change] : [],
  );
}

function lookOf({ target, atMs, locks, holes }: Side): Observation {
  const at = new Date(atMs).toISOString();
  return { target, startedMs: atMs, endedMs: atMs, at, locks, complete: holes.length === 0 };
}

const columns: readonly Column<LockChange>[] = [
  { title: 'NAME', cell: ({ lock }) => lock, shrinkTo: 16 },
  { title: 'CHANGE', cell: ({ kind }) => kind },
  { title: 'FROM → TO', cell: diffSentence },
];

async function print(
  changes: readonly LockChange[],
  { output, headers }: ListOptions,
  io: Io,
): Promise<void> {
  const writer = lineWriter(io);
  if (output === 'json') {
    await writer.line(toJsonText({ schemaVersion, changes: changes.map(changeJson) }));
  } else if (output === 'jsonl') {
    for (const one of changes) await writer.line(toJsonLine({ schemaVersion, ...changeJson(one) }));
  } else if (output === 'name') {
    for (const name of new Set(changes.map(({ lock }) => lock))) await writer.line(name);
  } else if (changes.length > 0) {
    const layout = new ColumnLayout(columns, changes);
    if (headers) await writer.line(layout.heading());
    for (const one of changes) await writer.line(layout.line(one));
  }
  await writer.end();
}

function changeJson(change: LockChange): object {
  const { kind, target, lock, ...rest } = change;
  const about = { target, name: lock, change: kind, sentence: diffSentence(change) };
  // When a look was made is not when the lock changed.
  return { ...about, ...rest, atMs: undefined, at: undefined, afterGap: undefined };
}
