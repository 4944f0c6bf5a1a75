/** The work of `conventions`: the catalogue of this machine, built in and own. */
import { allConventions } from '../../config/catalogue.ts';
import { loadConventions } from '../../config/conventions-file.ts';
import { conventionColumns, type ListedConvention } from '../../reports/conventions-list.ts';
import { schemaVersion, toJsonLine, toJsonText } from '../../reports/json.ts';
import { ColumnLayout } from '../../reports/table.ts';
import type { Io } from '../io.ts';
import { lineWriter } from '../output.ts';

export interface ConventionsOptions {
  readonly conventions?: string;
  readonly system?: string;
  readonly headers: boolean;
  readonly output: string;
}

/** @throws {UsageError} an unreadable file of own ones @throws {InputFileError} one with errors */
export async function listConventions(options: ConventionsOptions, io: Io): Promise<void> {
  const own = await loadConventions(options.conventions, io.env);
  const mine = new Set<unknown>([...own.redis, ...own.etcd, ...own.zookeeper]);
  const listed = allConventions(own)
    .filter(({ system }) => options.system === undefined || system === options.system)
    .map((one): ListedConvention => ({
      convention: one.id,
      system: one.system,
      title: one.title,
      own: mine.has(one),
      recognises: one.recognises ?? one.title,
      ...(one.wakes === undefined ? {} : { wakes: one.wakes }),
      ...(one.forbidden === undefined ? {} : { neverRelease: one.forbidden }),
    }));
  const writer = lineWriter(io);
  for (const line of linesOf(listed, options, io)) await writer.line(line);
  await writer.end();
}

function linesOf(
  listed: readonly ListedConvention[],
  { output, headers }: ConventionsOptions,
  io: Io,
): readonly string[] {
  switch (output) {
    case 'name':
      return listed.map(({ convention }) => convention);
    case 'json':
      return [toJsonText({ schemaVersion, conventions: listed })];
    case 'jsonl':
      return listed.map((one) => toJsonLine({ schemaVersion, ...one }));
    default: {
      const layout = new ColumnLayout(conventionColumns, listed, io.columns);
      return [...(headers ? [layout.heading()] : []), ...listed.map((one) => layout.line(one))];
    }
  }
}
