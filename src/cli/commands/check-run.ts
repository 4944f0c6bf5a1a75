/** The work of `check`: reads histories, has them judged, prints the verdicts. */
import { createReadStream } from 'node:fs';
import { TextDecoder } from 'node:util';
import { eventText } from '../../chaos/event-text.ts';
import { historyJsonSchema } from '../../checks/history-schema.ts';
import { judge } from '../../checks/judge.ts';
import { HistoryParser, type ParsedHistory } from '../../checks/parse-history.ts';
import { defaultInvariants, parseInvariant } from '../../checks/registry.ts';
import type { JudgedHistory } from '../../domain/check-report.ts';
import { exitCodes, UsageError, type ExitCode } from '../../domain/errors.ts';
import type { History } from '../../domain/event.ts';
import type { InvariantSpec } from '../../domain/scenario.ts';
import { joinVerdicts, type CheckResult, type Verdict } from '../../domain/verdict.ts';
import { checkJson, checkJunit, renderCheck } from '../../reports/check-results.ts';
import { printable } from '../../reports/escape.ts';
import { toJsonText } from '../../reports/json.ts';
import type { Io } from '../io.ts';
import { lineWriter, paintFor } from '../output.ts';

export interface CheckOptions {
  readonly invariant?: readonly string[];
  readonly lease?: number;
  readonly schema?: true;
  readonly output: string;
}

/**
 * Judges each file; `-` is stdin. Every file is read before anything is printed.
 * @throws {UsageError} no file, an unknown invariant, a file that cannot be read
 * @throws {InputFileError} a history that is malformed, with its place
 */
export async function checkHistories(
  files: readonly string[],
  options: CheckOptions,
  io: Io,
): Promise<ExitCode> {
  if (options.schema === true) {
    await io.out(`${toJsonText(historyJsonSchema())}\n`);
    return exitCodes.ok;
  }
  if (files.length === 0) {
    throw new UsageError('no history given', {
      code: 'no-history',
      hint: 'fencepost check FILE…, or - for stdin; --schema prints the format',
      definite: true,
    });
  }
  const invariants = options.invariant?.map(parseInvariant);
  const judged: JudgedHistory[] = [];
  for (const file of files) judged.push(await judgeFile(file, invariants, options.lease));
  await print(judged, options.output, io);
  return exitCode(judged.map(({ verdict }) => verdict));
}

async function judgeFile(
  file: string,
  invariants: readonly InvariantSpec[] | undefined,
  leaseMs: number | undefined,
): Promise<JudgedHistory> {
  const name = file === '-' ? 'stdin' : file;
  const { history, notes } = await readHistory(file, name);
  const declared = declaredInvariants(history);
  const results = judge(
    history,
    invariants ?? declared ?? defaultInvariants(),
    leaseMs === undefined ? {} : { leaseMs },
  );
  const describe = describer(history);
  const named = (invariants ?? declared) !== undefined;
  return {
    file: name,
    events: history.events.length,
    locks: new Set(results.flatMap(({ lock }) => lock ?? [])).size,
    notes,
    results: results.map((result) => ({
      ...result,
      witnessLines: result.witness.map(describe),
      named,
    })),
    verdict: verdictOf(results, named),
  };
}

/** What the history's author declared must hold; undefined where nothing was declared. */
function declaredInvariants({ header }: History): readonly InvariantSpec[] | undefined {
  return header.invariants?.map((spec) => {
    const { name, level } = spec;
    // Refuses names and levels that no checker has.
    parseInvariant(level === undefined ? name : `${name}:${level}`);
    return spec;
  });
}

/** Reads piece by piece: a history of a million operations is longer than a string may be. */
async function readHistory(file: string, name: string): Promise<ParsedHistory> {
  const parser = new HistoryParser(name);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const pieces = readPieces(file, name);
  for await (const bytes of pieces) parser.add(decode(decoder, name, bytes));
  parser.add(decode(decoder, name));
  return parser.finish();
}

async function* readPieces(file: string, name: string): AsyncGenerator<Uint8Array> {
  const stream: AsyncIterable<Uint8Array> =
    file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 2 ** 20 });
  try {
    yield* stream;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`cannot read the history "${name}": ${reason}`, {
      code: 'unreadable-history',
      hint: 'give the path of a history.jsonl, or - for stdin',
      cause: error,
      definite: true,
    });
  }
}

/** Without bytes: the end, where half a character is an error as well. */
function decode(decoder: TextDecoder, name: string, bytes?: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined });
  } catch (error) {
    throw new UsageError(`the history "${name}" is not UTF-8`, {
      code: 'unreadable-history',
      hint: 'JSON Lines are UTF-8; escape other bytes before writing them into names',
      cause: error,
      definite: true,
    });
  }
}

/** Witness events as lines: their number, their time since the first event, what happened. */
function describer(history: History): (seq: number) => string {
  const originNs = history.events.reduce(
    (least, { atNs }) => (atNs < least ? atNs : least),
    history.events[0]?.atNs ?? 0n,
  );
  const operations = new Map<string, string>();
  for (const event of history.events) {
    if (event.kind !== 'invoke') continue;
    const words = [event.business ?? event.action, event.subject ?? event.effectId];
    operations.set(event.op, words.filter((word) => word !== undefined).join(' '));
  }
  return (seq) => {
    const event = history.events[seq];
    if (event === undefined) return `event ${seq}`;
    const atMs = Number(event.atNs - originNs) / 1e6;
    return `event ${seq}: ${eventText(event, atMs, (op) => operations.get(op) ?? op)}`;
  };
}

/**
 * What is not exercised on some locks only is no failure; a named invariant that no lock
 * exercises is, and so is a history that puts nothing to the test.
 */
function verdictOf(results: readonly CheckResult[], named: boolean): Verdict {
  const [assumptions, ...judged] = results;
  const byInvariant = new Map<string, Verdict[]>();
  for (const { invariant, verdict } of judged) {
    const verdicts = byInvariant.get(invariant) ?? [];
    byInvariant.set(invariant, verdicts);
    if (verdict !== 'not-exercised') verdicts.push(verdict);
  }
  const joined = [...byInvariant.values()].map(joinVerdicts);
  const counted = named ? joined : joined.filter((verdict) => verdict !== 'not-exercised');
  return joinVerdicts([
    joinVerdicts(counted),
    ...(assumptions?.verdict === 'inconclusive' ? (['inconclusive'] as const) : []),
  ]);
}

async function print(judged: readonly JudgedHistory[], output: string, io: Io): Promise<void> {
  const writer = lineWriter(io);
  if (output === 'json') await writer.line(checkJson(judged));
  else if (output === 'junit') await writer.text(checkJunit(judged));
  else {
    const paint = await paintFor(io);
    for (const line of renderCheck(judged, paint, io.columns)) await writer.line(line);
  }
  await writer.end();
  for (const { file, notes } of judged) {
    for (const note of notes) io.err(`${printable(`${file}: ${note}`)}\n`);
  }
  io.err(`${summary(judged)}\n`);
}

function summary(judged: readonly JudgedHistory[]): string {
  const results = judged.flatMap((history) => history.results);
  const count = (wanted: Verdict): number =>
    results.filter(({ verdict }) => verdict === wanted).length;
  const events = judged.reduce((sum, history) => sum + history.events, 0);
  return [
    `${events} events`,
    `${count('held')} held`,
    `${count('violated')} violated`,
    `${count('inconclusive')} inconclusive`,
    `${count('not-exercised')} not exercised`,
  ].join(' · ');
}

function exitCode(verdicts: readonly Verdict[]): ExitCode {
  const verdict = joinVerdicts(verdicts);
  if (verdict === 'violated') return exitCodes.violated;
  return verdict === 'held' ? exitCodes.ok : exitCodes.inconclusive;
}
