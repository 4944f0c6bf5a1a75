/**
 * The undo journal: what a run is about to do to processes, keys and databases, and how to undo it.
 * Every line is on disk before the deed. One copy lies in the user's state folder, where `heal` and
 * the next run find it; it is removed when nothing is left to undo.
 */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { openProcessReader, type ProcessIdentity } from '../processes/process-evidence.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const identity = z.object({ pid: z.int().positive(), startTime: z.string() });

const undoShape = z.discriminatedUnion('type', [
  /** A worker's group: killed, never resumed, because a resumed orphan would write. */
  z.object({ type: z.literal('kill-group'), group: identity }),
  /** The resource: it ends by itself with its run, and by force if it is stopped or stuck. */
  z.object({ type: z.literal('end-resource'), group: identity }),
  z.object({
    type: z.literal('remove-keys'),
    protocol: z.string(),
    /** Without password. */
    target: z.string(),
    prefix: z.string(),
    /** The server itself ends with the run: when it cannot be reached, nothing is left. */
    throwaway: z.boolean(),
  }),
  /** Without password; the run names the schema. */
  z.object({ type: z.literal('drop-schema'), url: z.string(), run: z.string() }),
]);
export type Undo = z.infer<typeof undoShape>;

const lineShape = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('run'),
    schemaVersion: z.literal(1),
    runId: z.string(),
    owner: identity,
    startedAt: z.string(),
  }),
  z.object({ kind: z.literal('will'), id: z.int(), what: z.string(), undo: undoShape }),
  z.object({ kind: z.literal('done'), id: z.int() }),
]);
type Line = z.infer<typeof lineShape>;

/** One deed that has not been undone. */
export interface Pending {
  readonly id: number;
  readonly what: string;
  readonly undo: Undo;
}

export interface JournalState {
  readonly file: string;
  readonly runId: string;
  readonly owner: ProcessIdentity;
  /** Latest deed first: the order of undoing. */
  readonly pending: readonly Pending[];
}

export class UndoJournal {
  readonly #files: readonly string[];
  readonly #pending = new Set<number>();
  #next = 0;

  /** @param files the one in the state folder first; every line goes to each */
  private constructor(files: readonly [string, ...string[]]) {
    this.#files = files;
  }

  /** Begins the journal of a run that this process carries out. */
  static async open(env: Environment, runId: string, folder: string): Promise<UndoJournal> {
    const facts = await openProcessReader().read(process.pid);
    const owner = { pid: process.pid, startTime: facts?.startTime ?? '' };
    const journal = new UndoJournal([journalFile(env, runId), join(folder, 'undo.jsonl')]);
    const startedAt = new Date().toISOString();
    journal.#write({ kind: 'run', schemaVersion: 1, runId, owner, startedAt });
    return journal;
  }

  /** The copy that `heal` reads. */
  get file(): string {
    return this.#files[0] ?? '';
  }

  /** Writes down a deed before it is done; on disk when this returns. */
  will(what: string, undo: Undo): number {
    const id = this.#next;
    this.#next += 1;
    this.#write({ kind: 'will', id, what, undo });
    this.#pending.add(id);
    return id;
  }

  /** The deed is undone. */
  done(id: number): void {
    this.#write({ kind: 'done', id });
    this.#pending.delete(id);
  }

  /** Removes the copy in the state folder if nothing is left. @returns whether it was clean */
  close(): boolean {
    if (this.#pending.size > 0) return false;
    rmSync(this.file, { force: true });
    return true;
  }

  #write(line: Line): void {
    for (const file of this.#files) appendLine(file, line);
  }
}

function appendLine(file: string, line: Line): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const descriptor = openSync(file, 'a', 0o600);
  try {
    writeSync(descriptor, `${JSON.stringify(line)}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Marks a deed as undone from outside the run that did it. */
export function markDone(file: string, id: number): void {
  appendLine(file, { kind: 'done', id });
}

function journalsFolder(env: Environment): string {
  const given = env['XDG_STATE_HOME'];
  const state =
    given !== undefined && isAbsolute(given) ? given : join(homedir(), '.local', 'state');
  return join(state, 'fencepost', 'journals');
}

function journalFile(env: Environment, runId: string): string {
  return join(journalsFolder(env), `${runId}.jsonl`);
}

/** Every journal of this user that still is there. */
export function listJournals(env: Environment): readonly JournalState[] {
  let names: readonly string[];
  try {
    names = readdirSync(journalsFolder(env));
  } catch {
    // No folder yet: no run was ever interrupted.
    return [];
  }
  return names
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readJournal(join(journalsFolder(env), name)) ?? []);
}

/** Reads one journal; undefined when it is gone or has no head. A last line cut by a crash is left out. */
export function readJournal(file: string): JournalState | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // Closed in between.
    return undefined;
  }
  const pending = new Map<number, Pending>();
  let head: Extract<Line, { kind: 'run' }> | undefined;
  for (const line of text.split('\n').flatMap(parseLine)) {
    if (line.kind === 'run') head = line;
    else if (line.kind === 'will') pending.set(line.id, line);
    else pending.delete(line.id);
  }
  if (head === undefined) return undefined;
  const { runId, owner } = head;
  return { file, runId, owner, pending: [...pending.values()].reverse() };
}

function parseLine(text: string): readonly Line[] {
  try {
    const parsed = lineShape.safeParse(JSON.parse(text));
    return parsed.success ? [parsed.data] : [];
  } catch {
    // The line that a crash cut, or the empty rest after the last one: its deed was not done.
    return [];
  }
}

/** Whether the run that writes this journal still goes on. */
export async function isOwned(journal: JournalState): Promise<boolean> {
  const facts = await openProcessReader().read(journal.owner.pid);
  return facts?.startTime === journal.owner.startTime && facts.state !== 'Z';
}
