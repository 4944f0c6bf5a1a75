/** The work of `log`: the audit log as releases, and the proof that it is whole. */
import { readFile } from 'node:fs/promises';
import type { AuditRecord } from '../../domain/audit-record.ts';
import { exitCodes, systemCode, UsageError, type ExitCode } from '../../domain/errors.ts';
import { parseText } from '../../domain/text.ts';
import { auditLogFile, readChain, type AuditChain } from '../../release/audit-log.ts';
import { auditRecords } from '../../release/audit-records.ts';
import { auditColumns, auditRecordJson } from '../../reports/audit-list.ts';
import { schemaVersion, toJsonLine, toJsonText } from '../../reports/json.ts';
import { ColumnLayout } from '../../reports/table.ts';
import type { Io } from '../io.ts';
import { lineWriter, paintFor } from '../output.ts';

export interface LogOptions {
  readonly verify?: true;
  readonly limit?: number;
  readonly auditLog?: string;
  readonly headers: boolean;
  readonly output: string;
}

/**
 * Lists recorded releases. A machine that never released anything is an answer, not an error.
 * @throws {UsageError} the file that was named cannot be read
 */
export async function showLog(
  name: string | undefined,
  options: LogOptions,
  io: Io,
): Promise<ExitCode> {
  const { file, chain } = await readLog(options, io);
  const all = auditRecords(chain?.lines ?? []);
  const wanted = name === undefined ? all : all.filter(({ lock }) => lock === parseText(name));
  const shown = options.limit === undefined ? wanted : wanted.slice(-options.limit);
  const writer = lineWriter(io);
  for (const line of await linesOf(file, shown, options, io)) await writer.line(line);
  await writer.end();
  const some = shown.length < wanted.length ? `the newest ${shown.length} of ` : '';
  io.err(`${some}${wanted.length} release${wanted.length === 1 ? '' : 's'} · ${file}\n`);
  if (chain?.brokenAt !== undefined) io.err(`fencepost: ${brokenWords(file, chain.brokenAt)}\n`);
  return exitCodes.ok;
}

/**
 * Checks the chain of the file's lines. A log that is not there proves nothing: inconclusive.
 * @throws {UsageError} together with a lock's name: the chain is of all of them
 */
export async function verifyLog(
  name: string | undefined,
  options: LogOptions,
  io: Io,
): Promise<ExitCode> {
  if (name !== undefined) {
    throw new UsageError(`"${name}" cannot be verified alone: the chain is of all releases`, {
      code: 'verify-all',
      hint: 'leave the name out: fencepost log --verify',
      definite: true,
    });
  }
  const { file, chain } = await readLog(options, io);
  const verdict =
    chain === undefined ? 'missing' : chain.brokenAt === undefined ? 'whole' : 'broken';
  if (options.output !== 'table') {
    const { count: lines, brokenAt, lastDigest } = chain ?? {};
    const document = { schemaVersion, file, verdict, lines, brokenAt, lastDigest };
    await io.out(
      options.output === 'json' ? `${toJsonText(document)}\n` : `${toJsonLine(document)}\n`,
    );
  } else await io.out(`${verifyWords(file, chain)}\n`);
  return { missing: exitCodes.inconclusive, whole: exitCodes.ok, broken: exitCodes.violated }[
    verdict
  ];
}

interface ReadLog {
  readonly file: string;
  /** Undefined: nothing was ever recorded there. */
  readonly chain: AuditChain | undefined;
}

async function readLog({ auditLog }: LogOptions, io: Io): Promise<ReadLog> {
  const file = auditLog ?? auditLogFile(io.env);
  try {
    return { file, chain: readChain(await readFile(file, 'utf8')) };
  } catch (error) {
    const code = systemCode(error, 'failed');
    if (code === 'ENOENT' && auditLog === undefined) return { file, chain: undefined };
    throw new UsageError(`"${file}" cannot be read: ${code}`, {
      code: 'unreadable-file',
      hint: 'name the audit log of a release: --audit-log FILE',
      definite: true,
    });
  }
}

async function linesOf(
  file: string,
  records: readonly AuditRecord[],
  { output, headers }: LogOptions,
  io: Io,
): Promise<readonly string[]> {
  switch (output) {
    case 'json':
      return [toJsonText({ schemaVersion, file, releases: records.map(auditRecordJson) })];
    case 'jsonl':
      return records.map((one) => toJsonLine({ schemaVersion, ...auditRecordJson(one) }));
    default: {
      if (records.length === 0) return [];
      const layout = new ColumnLayout(auditColumns(await paintFor(io)), records, io.columns);
      return [...(headers ? [layout.heading()] : []), ...records.map((one) => layout.line(one))];
    }
  }
}

function verifyWords(file: string, chain: AuditChain | undefined): string {
  if (chain === undefined) return `nothing to verify: ${file} does not exist`;
  if (chain.brokenAt !== undefined) return `BROKEN   ${brokenWords(file, chain.brokenAt)}`;
  const lines = `${chain.count} line${chain.count === 1 ? '' : 's'}`;
  return `whole   ${lines}, last digest ${chain.lastDigest}`;
}

function brokenWords(file: string, line: number): string {
  return `${file}: line ${line} does not continue the one before: something was edited, taken out or cut off`;
}
