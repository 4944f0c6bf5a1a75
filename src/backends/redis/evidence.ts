/**
 * Evidence about the owner that Redis can give: how long the key lay untouched, whether a client
 * connection matches the owner value, who sleeps on the channel. What the account may not ask stays
 * unknown, with the permission that would answer it.
 */
import { formatDuration } from '../../domain/duration.ts';
import { known, unknown, valueOf, type Known } from '../../domain/known.ts';
import type { LockSnapshot, OwnerEvidence } from '../../domain/lock.ts';
import { stringToText, textToBytes, type Text } from '../../domain/text.ts';
import type { Sender } from './connection.ts';
import { isRefusal, isUnknownCommand } from './errors.ts';
import { asBuffer, parsePairs } from './replies.ts';

interface World {
  readonly sender: Sender;
  readonly signal: AbortSignal;
}

/** Milliseconds since the key was last read or written by anybody. */
export type IdleTime = Known<number>;

/** A no-TTL lock untouched for this long points to a dead owner. A guess, and a weak one. */
const longIdleMs = 600_000;

/** Must be asked before the keys are read: reading resets it (before 7.2, for every reader). */
export async function idleTime(
  world: World,
  keys: readonly Text[],
): Promise<ReadonlyMap<Text, IdleTime>> {
  const answers = await world.sender.sendAll(
    keys.map((key) => ['OBJECT', 'IDLETIME', Buffer.from(textToBytes(key))]),
    { signal: world.signal },
  );
  return new Map(keys.map((key, index) => [key, toIdleTime(answers[index])]));
}

function toIdleTime(answer: unknown): IdleTime {
  if (typeof answer === 'number') return known(answer * 1000);
  if (answer === null) return unknown('there is no such key');
  if (isRefusal(answer)) return unknown('OBJECT IDLETIME was refused', 'needs +object|idletime');
  if (answer instanceof Error && answer.message.includes('LFU')) {
    return unknown('the server keeps no idle times under an LFU maxmemory-policy');
  }
  if (answer instanceof Error && !isUnknownCommand(answer)) throw answer;
  return unknown('the server does not tell idle times');
}

export async function gatherEvidence(
  world: World,
  snapshot: LockSnapshot,
  idle: IdleTime,
): Promise<OwnerEvidence[]> {
  if (snapshot.state === 'free' || snapshot.state === 'orphan-waiters') return [];
  return [idleEvidence(snapshot, idle), await connectionEvidence(world, snapshot)];
}

function idleEvidence(snapshot: LockSnapshot, idle: IdleTime): OwnerEvidence {
  const base = { name: 'idle-time', source: 'OBJECT IDLETIME' };
  if (idle.kind === 'unknown') return { ...base, points: 'none', finding: idle };
  const long = snapshot.lease.kind === 'never' && idle.value >= longIdleMs;
  return {
    ...base,
    points: long ? 'likely-dead' : 'none',
    finding: known(
      `untouched for ${formatDuration(idle.value)}${long ? '' : '; a short time proves nothing, because failed attempts of waiters and readers reset it'}`,
    ),
  };
}

/** One row of CLIENT LIST, as far as it matters here. */
interface ClientRow {
  readonly id: string;
  readonly address: string;
  readonly name: string;
  readonly row: ReadonlyMap<string, string>;
}

async function connectionEvidence(world: World, snapshot: LockSnapshot): Promise<OwnerEvidence> {
  const base = { name: 'owner-connection', source: 'CLIENT LIST' };
  const owners = (valueOf(snapshot.holders) ?? []).map((holder) => holder.owner);
  const [answer] = await world.sender.sendAll([['CLIENT', 'LIST']], { signal: world.signal });
  if (answer instanceof Error) {
    if (!isRefusal(answer) && !isUnknownCommand(answer)) throw answer;
    const finding = unknown('this account may not list the clients', 'needs +client|list');
    return { ...base, points: 'none', finding };
  }
  const rows = parseClients(asBuffer(answer, 'CLIENT LIST').toString());
  const match = owners.flatMap((owner) => rows.filter((row) => isOwnersClient(row, owner)))[0];
  if (match !== undefined) {
    return { ...base, points: 'likely-alive', finding: known(describeClient(match)) };
  }
  const named = owners.some((owner) => addressIn.test(owner));
  return {
    ...base,
    points: 'none',
    finding: named
      ? known(`none of the ${rows.length} connections comes from the address in the owner value`)
      : unknown('the owner value names no connection, so none of the clients can be matched'),
  };
}

const addressIn = /(?:\d{1,3}\.){3}\d{1,3}/;

function parseClients(text: string): ClientRow[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const row = parsePairs(line, / /, '=');
      return {
        id: row.get('id') ?? '?',
        address: row.get('addr') ?? '',
        name: row.get('name') ?? '',
        row,
      };
    });
}

/** The client's name is in the owner value (or the other way round), or its address is. */
function isOwnersClient({ address, name }: ClientRow, owner: Text): boolean {
  if (name.length >= 4 && (contains(owner, name) || contains(name, owner))) return true;
  const host = address.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return (
    contains(owner, address) ||
    (addressIn.test(host) && contains(owner, host) && !/:\d/.test(owner))
  );
}

/** `part` occurs in `whole` and is not a piece of a longer word or number. */
function contains(whole: string, part: string): boolean {
  if (part.length < 4) return false;
  for (let at = whole.indexOf(part); at !== -1; at = whole.indexOf(part, at + 1)) {
    const around = `${whole[at - 1] ?? ''} ${whole[at + part.length] ?? ''}`;
    if (!/[A-Za-z0-9]/.test(around)) return true;
  }
  return false;
}

function describeClient({ id, address, name, row }: ClientRow): string {
  const seconds = (field: string): string => formatDuration(Number(row.get(field) ?? 0) * 1000);
  const called = name === '' ? '' : ` named ${name}`;
  return stringToText(
    `client ${id} ${address}${called} is connected for ${seconds('age')}, idle for ${seconds('idle')}`,
  );
}
