/** The work of `history`: the fences of one lock, oldest first, and from when on they are all there. */
import type { LockHistory } from '../../backends/backend.ts';
import { exitCodes, type ExitCode } from '../../domain/errors.ts';
import type { FenceRecord } from '../../domain/fence.ts';
import type { Known } from '../../domain/known.ts';
import type { LockRef } from '../../domain/lock.ts';
import { parseText } from '../../domain/text.ts';
import { schemaVersion, toJsonLine, toJsonText } from '../../reports/json.ts';
import { historyColumns } from '../../reports/locks-history.ts';
import { fenceRecordJson } from '../../reports/locks-json.ts';
import { unknownSentence } from '../../reports/locks-words.ts';
import { ColumnLayout } from '../../reports/table.ts';
import type { Io } from '../io.ts';
import { lineWriter, type LineWriter } from '../output.ts';
import { withTarget, type TargetOptions } from '../target-options.ts';

export interface HistoryOptions extends TargetOptions {
  readonly convention?: string;
  readonly limit?: number;
  readonly headers: boolean;
  readonly output: string;
}

/** Lists past and present grants. A lock without any history is an answer, not an error. */
export function showHistory(name: string, options: HistoryOptions, io: Io): Promise<ExitCode> {
  return withTarget(options, io, async (backend) => {
    const ref: LockRef = {
      name: parseText(name),
      ...(options.convention === undefined ? {} : { convention: options.convention }),
    };
    const history = backend.history(ref, io.signal);
    const { records, total } = await newest(history, options.limit);
    const complete = history.completeness();
    const writer = lineWriter(io);
    const shown = { target: backend.display, name: ref.name, complete, total, records };
    await write(shown, options, io, writer);
    await writer.end();
    io.err(`${statement(shown)}\n`);
    return exitCodes.ok;
  });
}

interface ShownHistory {
  readonly target: string;
  readonly name: string;
  readonly complete: Known<string>;
  /** Records there are; more than shown when a limit was given. */
  readonly total: number;
  readonly records: readonly FenceRecord[];
}

async function newest(
  history: LockHistory,
  limit = Infinity,
): Promise<{ records: readonly FenceRecord[]; total: number }> {
  const records: FenceRecord[] = [];
  let total = 0;
  for await (const record of history.records) {
    total += 1;
    records.push(record);
    if (records.length > limit) records.shift();
  }
  return { records, total };
}

async function write(
  shown: ShownHistory,
  options: HistoryOptions,
  io: Io,
  writer: LineWriter,
): Promise<void> {
  const { target, name, complete, total, records } = shown;
  if (options.output === 'json') {
    const json = records.map(fenceRecordJson);
    await writer.line(toJsonText({ schemaVersion, target, name, complete, total, records: json }));
  } else if (options.output === 'jsonl') {
    for (const record of records) {
      await writer.line(toJsonLine({ schemaVersion, target, name, ...fenceRecordJson(record) }));
    }
  } else if (records.length > 0) {
    const layout = new ColumnLayout(historyColumns, records, io.columns);
    if (options.headers) await writer.line(layout.heading());
    for (const record of records) await writer.line(layout.line(record));
  }
}

function statement({ complete, total, records }: ShownHistory): string {
  const amount =
    records.length < total
      ? `the newest ${records.length} of ${total} grants`
      : `${total} grant${total === 1 ? '' : 's'}`;
  if (complete.kind === 'unknown') return `${amount} · completeness ${unknownSentence(complete)}`;
  const hole = complete.kind === 'partial' ? ` (${complete.reason})` : '';
  return `${amount} · complete ${complete.value}${hole}`;
}
