/** Undoes what interrupted runs left behind, from their journals: latest deed first. */
import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { TargetError, UndoFailed } from '../domain/errors.ts';
import { parseTarget, Secret } from '../domain/target.ts';
import {
  openProcessReader,
  signalGroup,
  type ProcessIdentity,
} from '../processes/process-evidence.ts';
import { openProtocol } from '../protocols/registry.ts';
import { withoutPassword } from '../resources/resource-url.ts';
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

/** What the journal leaves out. */
export interface HealSecrets {
  /** Of the lock service. */
  readonly password: Secret | undefined;
  /** Of the resource's database; the URL with its password. */
  readonly resourceUrl: Secret | undefined;
}

/** @param env where `FENCEPOST_PASSWORD` and `FENCEPOST_RESOURCE` may be */
export function secretsFrom(env: Environment): HealSecrets {
  const secret = (name: string): Secret | undefined => {
    const value = env[name];
    return value === undefined || value === '' ? undefined : new Secret(value);
  };
  return { password: secret('FENCEPOST_PASSWORD'), resourceUrl: secret('FENCEPOST_RESOURCE') };
}

export interface HealResult {
  readonly runId: string;
  /** What was undone, for people. */
  readonly undone: readonly string[];
  /** What could not be undone, with the reason. */
  readonly left: readonly string[];
}

/** Heals every run that is over and left something. Runs that still go on are not touched. */
export async function heal(env: Environment, secrets: HealSecrets): Promise<readonly HealResult[]> {
  const results: HealResult[] = [];
  for (const journal of listJournals(env)) {
    if (!(await isOwned(journal))) results.push(await healJournal(journal, secrets));
  }
  return results;
}

/** Undoes one journal. Idempotent; what fails stays in the journal. */
export async function healJournal(
  journal: JournalState,
  secrets: HealSecrets,
): Promise<HealResult> {
  const undone: string[] = [];
  const left: string[] = [];
  for (const { id, what, undo } of journal.pending) {
    try {
      await apply(undo, secrets);
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
  secrets: HealSecrets,
): Promise<HealResult | undefined> {
  const journal = readJournal(file);
  return journal === undefined ? undefined : healJournal(journal, secrets);
}

async function apply(undo: Undo, secrets: HealSecrets): Promise<void> {
  switch (undo.type) {
    case 'kill-group':
      await signalGroup(undo.group, 'SIGKILL', openProcessReader());
      return;
    case 'end-resource':
      return endResource(undo.group);
    case 'remove-keys':
      return removeKeys(undo, secrets.password);
    case 'drop-schema':
      return dropPostgresRun(fullUrl(undo.url, secrets.resourceUrl), undo.run);
  }
}

const resourceEndsWithinMs = 5000;
const lookEveryMs = 25;

/** Left to itself for a while: what it drops from its database needs no password of ours. */
async function endResource(group: ProcessIdentity): Promise<void> {
  const reader = openProcessReader();
  const deadline = performance.now() + resourceEndsWithinMs;
  for (;;) {
    const facts = await reader.read(group.pid);
    if (facts?.startTime !== group.startTime || facts.state === 'Z') return;
    if (facts.state === 'T' || performance.now() > deadline) break;
    await delay(lookEveryMs);
  }
  await signalGroup(group, 'SIGKILL', reader);
}

/** The given URL with its password when it is the journal's; else PGPASSWORD or ~/.pgpass must do. */
function fullUrl(url: string, given: Secret | undefined): string {
  const full = given?.reveal();
  return full !== undefined && URL.canParse(full) && withoutPassword(full) === url ? full : url;
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
