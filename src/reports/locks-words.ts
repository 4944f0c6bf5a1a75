/**
 * The words for a lock's facts, the same in every table and text. Four are kept apart: `?` is
 * unknown, `none` is known to be absent, `0` is counted, and `–` means the question does not arise.
 */
import { formatDuration } from '../domain/duration.ts';
import type { Fence } from '../domain/fence.ts';
import type { Holder, OwnerPlace, Waiters } from '../domain/holder.ts';
import { valueOf, type Known } from '../domain/known.ts';
import type { Lease } from '../domain/lease.ts';
import type { LockSnapshot, LockState } from '../domain/lock.ts';
import type { Paint } from './paint.ts';

const unknownWord = '?';
const notApplicable = '–';

const stateWords: Readonly<Record<LockState, string>> = {
  held: 'held',
  free: 'free',
  'no-ttl': 'NO-TTL',
  'orphan-waiters': 'ORPHAN',
  partial: 'PARTIAL',
  split: 'SPLIT',
  unknown: 'UNKNOWN',
};

/** Every state by its name in options and JSON. */
export const lockStates: readonly string[] = Object.keys(stateWords);

/** Capitals are for states that a person should look at. */
export function stateWord(state: LockState): string {
  return stateWords[state];
}

export function paintState(text: string, state: LockState, paint: Paint): string {
  if (state === 'held') return paint.good(text);
  return state === 'free' ? paint.faint(text) : paint.warn(text);
}

/** States that call for a person, and locks with a warning. */
export function needsAttention(lock: LockSnapshot): boolean {
  return (
    !(lock.state === 'held' || lock.state === 'free') ||
    lock.notes.some((note) => note.severity === 'warn')
  );
}

/** One cell for all holders. `brief` shortens random tokens: for terminals only. */
export function ownerWord(lock: LockSnapshot, brief: boolean): string {
  const holders = valueOf(lock.holders);
  if (holders === undefined) return unknownWord;
  const [first, ...others] = holders;
  if (first === undefined) return '(nobody)';
  const more = others.length === 0 ? '' : ` +${others.length}`;
  const open = lock.holders.kind === 'partial' ? ' +?' : '';
  return holderWord(first, brief) + more + open;
}

function holderWord(holder: Holder, brief: boolean): string {
  const token = brief ? briefToken(holder.owner) : holder.owner;
  const place = valueOf(holder.place);
  const at = place === undefined ? '' : placeSuffix(holder, place);
  return `${token === '' ? '(empty)' : token}${holder.holds > 1 ? ` ×${holder.holds}` : ''}${at}`;
}

/** A host that the token itself already shows is not said twice. */
function placeSuffix(holder: Holder, place: OwnerPlace): string {
  if (place.host === undefined || holder.owner.includes(place.host)) return '';
  return ` @${place.host}`;
}

function briefToken(token: string): string {
  return token.length <= 16 ? token : `${token.slice(0, 8)}…`;
}

export function leaseWord(lock: LockSnapshot): string {
  return lock.state === 'free' || isNobody(lock) ? notApplicable : leaseCell(lock.lease);
}

/** Time left, `session`, `never` or `?`. */
export function leaseCell(lease: Lease): string {
  switch (lease.kind) {
    case 'ttl':
      return formatDuration(lease.ttlMs);
    case 'session':
      return 'session';
    case 'never':
      return 'never';
    case 'unknown':
      return unknownWord;
  }
}

export function heldForWord(lock: LockSnapshot): string {
  return isNobody(lock) ? notApplicable : knownWord(lock.heldForMs, formatDuration);
}

function isNobody(lock: LockSnapshot): boolean {
  return valueOf(lock.holders)?.length === 0;
}

/** `≥` marks a lower bound. */
export function knownWord<T>(fact: Known<T>, format: (value: T) => string): string {
  if (fact.kind === 'unknown') return unknownWord;
  return (fact.kind === 'partial' ? '≥' : '') + format(fact.value);
}

export function waitersWord(waiters: Waiters): string {
  if (waiters.kind === 'unknown') return unknownWord;
  return String(waiters.kind === 'exact' ? waiters.list.length : waiters.count);
}

export function fenceWord(fence: Fence): string {
  if (fence.kind === 'unknown') return unknownWord;
  return fence.kind === 'none' ? 'none' : fence.token.toString();
}

/** `60s left of 2m`, as far as known. */
export function leaseSentence(lease: Lease): string {
  switch (lease.kind) {
    case 'ttl': {
      const granted = valueOf(lease.grantedMs);
      const of = granted === undefined ? '' : ` of ${formatDuration(granted)}`;
      const id = lease.id === undefined ? '' : `lease ${lease.id}, `;
      return `${id}${formatDuration(lease.ttlMs)} left${of}; it frees itself then unless renewed`;
    }
    case 'session': {
      const timeout = knownWord(lease.timeoutMs, formatDuration);
      return `session ${lease.sessionId}, timeout ${timeout}; it ends with that session`;
    }
    case 'never':
      return 'none: it stays until somebody removes it';
    case 'unknown':
      return unknownSentence(lease);
  }
}

/** `unknown: reason; remedy`. */
export function unknownSentence(fact: {
  readonly reason: string;
  readonly remedy?: string;
}): string {
  return `unknown: ${fact.reason}${fact.remedy === undefined ? '' : `; ${fact.remedy}`}`;
}
