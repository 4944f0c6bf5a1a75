/**
 * The operator's own record of releases: JSON Lines, append-only, mode 0600, each line with the
 * SHA-256 of the line before. The chain shows accidents and edits, not what the file's owner
 * rewrote on purpose. Every line is on the disk (fsync) before the next thing happens.
 */
import { createHash } from 'node:crypto';
import { mkdir, open, readFile, type FileHandle } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { systemCode } from '../domain/errors.ts';
import { withFileLock } from './file-lock.ts';

const lineShape = z.looseObject({
  at: z.string(),
  kind: z.enum(['intent', 'outcome']),
  lock: z.string(),
  clusterId: z.string().optional(),
  outcome: z.string().optional(),
  /** Of an outcome: the line of its intent. Absent in logs of versions before it was written. */
  intent: z.string().optional(),
  previous: z.string(),
});

export type AuditLine = z.output<typeof lineShape> & {
  /** As `release` names it: the day and the number of the line on that day. */
  readonly place: string;
};

export interface AuditChain {
  readonly lines: readonly AuditLine[];
  /** Number of the first line that does not continue the one before; undefined: whole. */
  readonly brokenAt: number | undefined;
  /** Lines in the file, unreadable ones too. */
  readonly count: number;
  /** SHA-256 of the last line: kept elsewhere, it shows later that no line was taken off the end. */
  readonly lastDigest: string;
}

export interface AuditEntry {
  readonly kind: 'intent' | 'outcome';
  readonly lock: string;
  readonly clusterId: string | undefined;
  readonly outcome?: string;
  readonly [field: string]: unknown;
}

/** Where a line went: `log 2026-12-02#3` is the third line of that day. */
export interface AuditPlace {
  readonly file: string;
  readonly day: string;
  readonly number: number;
}

/** `2026-12-02#3` */
export function placeWord({ day, number }: Pick<AuditPlace, 'day' | 'number'>): string {
  return `${day}#${number}`;
}

/** Default place of the log, by the XDG rules. */
export function auditLogFile(env: Readonly<Record<string, string | undefined>>): string {
  const given = env['XDG_STATE_HOME'] ?? '';
  const state = given === '' ? join(homedir(), '.local', 'state') : given;
  return join(state, 'fencepost', 'releases.jsonl');
}

/** Outcomes after which the record is gone, or may be. */
const deleting: ReadonlySet<string> = new Set([
  'released',
  'taken-over-by',
  'came-back',
  'foreign-removed',
  'unknown',
]);

export class AuditLog {
  readonly #file: string;
  readonly #lines: readonly AuditLine[];
  /** Why nothing can be appended, or undefined. */
  readonly problem: string | undefined;
  /** Number of the first line that does not continue the one before; undefined: whole. */
  readonly brokenAt: number | undefined;

  private constructor(file: string, text: string, problem: string | undefined) {
    this.#file = file;
    this.problem = problem;
    const { lines, brokenAt } = readChain(text);
    this.#lines = lines;
    this.brokenAt = brokenAt;
  }

  /** Reads the log and tries to open it for appending. A log that cannot be written is a problem, not an error. */
  static async open(file: string): Promise<AuditLog> {
    try {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      const handle = await open(file, 'a+', 0o600);
      await handle.close();
      return new AuditLog(file, await readFile(file, 'utf8'), undefined);
    } catch (error) {
      const code = systemCode(error, 'failed');
      return new AuditLog(file, '', `${file}: ${code}`);
    }
  }

  /** Milliseconds since this lock was last released from here, by this machine's wall clock. */
  lastReleaseAgoMs(lock: string, clusterId: string | undefined): number | undefined {
    const last = this.#lines.findLast(
      (line) =>
        line.kind === 'outcome' &&
        line.lock === lock &&
        line.clusterId === clusterId &&
        deleting.has(line.outcome ?? ''),
    );
    return last === undefined ? undefined : Math.max(0, Date.now() - Date.parse(last.at));
  }

  /** Releases of any lock in the last so many milliseconds, by this machine's wall clock. */
  releasesWithin(ms: number): number {
    const since = Date.now() - ms;
    return this.#lines.filter(
      ({ kind, outcome, at }) =>
        kind === 'outcome' && deleting.has(outcome ?? '') && Date.parse(at) >= since,
    ).length;
  }

  /**
   * Appends one line and waits until it is on the disk. Several programs at once take turns.
   * @throws {Error} when it cannot be written
   */
  async append(entry: AuditEntry): Promise<AuditPlace> {
    return withFileLock(`${this.#file}.lock`, async () => {
      const handle = await open(this.#file, 'a+', 0o600);
      try {
        // A file that was made by hand may be open to others.
        await handle.chmod(0o600);
        return await appendTo(handle, this.#file, entry);
      } finally {
        await handle.close();
      }
    });
  }
}

async function appendTo(handle: FileHandle, file: string, entry: AuditEntry): Promise<AuditPlace> {
  const before = await readFile(file, 'utf8');
  // A line cut off by a crash is closed first, so that it spoils itself and not ours.
  const cut = before !== '' && !before.endsWith('\n');
  const at = new Date().toISOString();
  const previous = digest(lastLine(before));
  const line = JSON.stringify({ at, schemaVersion: 1, ...entry, previous }, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
  await handle.appendFile(`${cut ? '\n' : ''}${line}\n`);
  await handle.sync();
  const day = at.slice(0, 10);
  const today = before.split('\n').filter((old) => old.startsWith(`{"at":"${day}`)).length;
  return { file, day, number: today + 1 };
}

/** Reads the text of a log. Lines that are no records are passed over: the chain tells of them. */
export function readChain(text: string): AuditChain {
  const lines: AuditLine[] = [];
  const perDay = new Map<string, number>();
  let brokenAt: number | undefined;
  let lastDigest = digest('');
  const rows = text.split('\n').filter((row) => row !== '');
  rows.forEach((row, index) => {
    const day = /^\{"at":"(\d{4}-\d\d-\d\d)/.exec(row)?.[1] ?? '?';
    const number = (perDay.get(day) ?? 0) + 1;
    perDay.set(day, number);
    const parsed = parseLine(row);
    if (parsed?.previous !== lastDigest) brokenAt ??= index + 1;
    if (parsed !== undefined) lines.push({ ...parsed, place: placeWord({ day, number }) });
    lastDigest = digest(row);
  });
  return { lines, brokenAt, count: rows.length, lastDigest };
}

function parseLine(row: string): z.output<typeof lineShape> | undefined {
  try {
    return lineShape.safeParse(JSON.parse(row)).data;
  } catch {
    // Not JSON: a line cut off or edited. The chain reports it; nothing is lost by going on.
    return undefined;
  }
}

function lastLine(text: string): string {
  return text.split('\n').findLast((row) => row !== '') ?? '';
}

function digest(line: string): string {
  return createHash('sha256').update(line).digest('hex');
}
