/** Undoes what interrupted runs left behind, from their journals: latest deed first. */
import { rmSync } from 'node:fs';
import { TargetError, UndoFailed } from '../domain/errors.ts';
import { parseTarget, type Secret } from '../domain/target.ts';
import { openProcessReader, signalGroup } from '../processes/process-evidence.ts';
import { openProtocol } from '../protocols/registry.ts';
import { dropPostgresRun } from '../resources/postgres-database.ts';
import {
  isOwned,
  listJournals,
  markDone,
  readJournal,
  type Environment,
  type JournalState,
  type Undo,
} from './undo-journal.ts';

export interface HealResult {
  readonly runId: string;
  /** What was undone, for people. */
  readonly undone: readonly string[];
  /** What could not be undone, with the reason. */
  readonly left: readonly string[];
}

/** Heals every run that is over and left something. Runs that still go on are not touched. */
export async function heal(
  env: Environment,
  password: Secret | undefined,
): Promise<readonly HealResult[]> {
  const results: HealResult[] = [];
  for (const journal of listJournals(env)) {
    if (!(await isOwned(journal))) results.push(await healJournal(journal, password));
  }
  return results;
}

/** Undoes one journal. Idempotent; what fails stays in the journal. */
export async function healJournal(
  journal: JournalState,
  password: Secret | undefined,
): Promise<HealResult> {
  const undone: string[] = [];
  const left: string[] = [];
  for (const { id, what, undo } of journal.pending) {
    try {
      await apply(undo, password);
      markDone(journal.file, id);
      undone.push(what);
    } catch (error) {
      left.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (left.length === 0) rmSync(journal.file, { force: true });
  return { runId: journal.runId, undone, left };
}

/**
 * Refuses to go on while an earlier run has left something.
 * @throws {UndoFailed} `dirty-journal`
 */
export async function requireCleanJournals(env: Environment): Promise<void> {
  for (const journal of listJournals(env)) {
    if (await isOwned(journal)) continue;
    if (journal.pending.length === 0) {
      rmSync(journal.file, { force: true });
      continue;
    }
    throw new UndoFailed(
      `run ${journal.runId} was cut short and left ${journal.pending.length} things to undo`,
      { code: 'dirty-journal', hint: 'undo them first: fencepost heal', definite: true },
    );
  }
}

/** Reads a journal again and heals it, once its run is over. For the watchdog. */
export async function healFile(
  file: string,
  password: Secret | undefined,
): Promise<HealResult | undefined> {
  const journal = readJournal(file);
  return journal === undefined ? undefined : healJournal(journal, password);
}

async function apply(undo: Undo, password: Secret | undefined): Promise<void> {
  switch (undo.type) {
    case 'kill-group': {
      const reader = openProcessReader();
      await signalGroup(undo.group, 'SIGKILL', reader);
      return;
    }
    case 'remove-keys':
      return removeKeys(undo, password);
    case 'drop-schema':
      return dropPostgresRun(undo.url, undo.run);
  }
}

const requestTimeoutMs = 5000;

async function removeKeys(
  undo: Extract<Undo, { type: 'remove-keys' }>,
  password: Secret | undefined,
): Promise<void> {
  const parsed = parseTarget(undo.target);
  const target = { ...parsed, password: parsed.password ?? password };
  const protocol = await openProtocol(undo.protocol, target.kind);
  try {
    const clientName = 'fencepost-heal';
    const observer = await protocol.observe({ target, requestTimeoutMs, clientName });
    try {
      await observer.cleanUp(undo.prefix);
    } finally {
      await observer.close();
    }
  } catch (error) {
    if (undo.throwaway && error instanceof TargetError) return;
    throw error;
  }
}
