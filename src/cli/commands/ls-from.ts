/** `ls --from`: the locks of a capture instead of a target's. No target is asked, no client loaded. */
import { openCapture } from '../../captures/read-capture.ts';
import { exitCodes, Interrupted, UsageError, type ExitCode } from '../../domain/errors.ts';
import { globMatcher } from '../../domain/glob.ts';
import { unrecognised, type LockSnapshot } from '../../domain/lock.ts';
import {
  captureOrigin,
  captureSentence,
  captureSummaryLines,
} from '../../reports/locks-capture.ts';
import { parseText } from '../../domain/text.ts';
import type { Io } from '../io.ts';
import { lineWriter, progressOn } from '../output.ts';
import { openListing, serverWarner } from './ls-output.ts';
import type { ListOptions } from './ls-options.ts';
import { Totals } from './ls-totals.ts';

/**
 * Lists the locks of the capture `file` that fit.
 * @throws {UsageError} options that only a target understands; a file that is no whole capture
 * @throws {InputFileError} a line of it that is wrong
 */
export async function listCapture(
  file: string,
  pattern: string | undefined,
  options: ListOptions,
  io: Io,
): Promise<ExitCode> {
  refuseLiveOptions(options);
  const capture = await openCapture(file);
  const { query, targets } = capture.header;
  const origin = captureOrigin(capture.header, Date.now());
  io.err(`${captureSentence(origin)}\n`);
  const progress = progressOn(io);
  const writer = lineWriter(io);
  const place = { writer, progress, withTarget: targets.length > 1, capture: origin };
  const sink = await openListing(options, io, place);
  const totals = new Totals(options);
  const warn = serverWarner(io, progress);
  const fits = lockFilter(pattern, options);
  try {
    for await (const { target, lock } of capture.locks) {
      if (io.signal.aborted) throw new Interrupted('interrupted', { code: 'interrupted' });
      if (!fits(lock)) continue;
      warn(lock);
      if (totals.full()) break;
      totals.count(lock);
      await sink.lock({ target: target.display, lock });
    }
    for (const tally of capture.end()?.tallies ?? []) totals.add(tally);
    await sink.end(totals.summary());
  } finally {
    await sink.flush();
    await writer.end();
  }
  for (const line of captureSummaryLines(totals.summary(), query)) io.err(`${line}\n`);
  return exitCodes.ok;
}

/** The same choice that a live listing makes, of what a capture holds. */
export function lockFilter(
  pattern: string | undefined,
  { all, convention, state }: ListOptions,
): (lock: LockSnapshot) => boolean {
  const named = pattern === undefined ? () => true : globMatcher([parseText(pattern)], 'exact');
  return ({ ref, recognition, state: found }) =>
    named(ref.name) &&
    (all === true || recognition.convention !== unrecognised) &&
    convention?.includes(recognition.convention) !== false &&
    state?.includes(found) !== false;
}

const liveOnly = {
  target: '--target',
  context: '--context',
  passwordFile: '--password-file',
  askPassword: '--ask-password',
  pattern: '--pattern',
  rate: '--rate',
  save: '--save',
} as const;

/** @throws {UsageError} an option that only a target understands */
export function refuseLiveOptions(options: ListOptions): void {
  const given: ReadonlyMap<string, unknown> = new Map(Object.entries(options));
  for (const [name, flag] of Object.entries(liveOnly)) {
    if (given.get(name) === undefined) continue;
    throw new UsageError(`${flag} is for a target, and --from reads a file`, {
      code: 'from-a-capture',
      hint: 'leave one of them out',
      definite: true,
    });
  }
}
