/** Locks and looks for tests of what is seen over time: plain values, written short. */
import { known, unknown } from '../../src/domain/known.ts';
import type { Waiters } from '../../src/domain/holder.ts';
import type { Lease } from '../../src/domain/lease.ts';
import type { LockSnapshot } from '../../src/domain/lock.ts';
import { stringToText } from '../../src/domain/text.ts';
import type { Observation } from '../../src/watch/observation.ts';

export interface LockFacts {
  readonly name?: string;
  /** Owners, in order; empty is nobody, undefined is unknown. */
  readonly owners?: readonly string[] | undefined;
  readonly ttlMs?: number | 'never' | 'session';
  readonly grantedMs?: number;
  readonly fence?: bigint;
  readonly waiters?: readonly string[] | number;
  readonly state?: LockSnapshot['state'];
  readonly mode?: LockSnapshot['mode'];
  readonly source?: 'counter' | 'create-revision';
}

/** A lock as an adapter would give it. */
export function lockOf(facts: LockFacts): LockSnapshot {
  const owners = 'owners' in facts ? facts.owners : ['A'];
  return {
    ref: { name: stringToText(facts.name ?? 'lock:a') },
    state: facts.state ?? (owners?.length === 0 ? 'free' : 'held'),
    recognition: {
      convention: 'plain',
      title: 'plain string',
      confidence: 'high',
      candidates: [],
      forced: false,
    },
    mode: facts.mode ?? 'exclusive',
    holders:
      owners === undefined
        ? unknown('not allowed to look')
        : known(
            owners.map((owner) => ({
              owner: stringToText(owner),
              place: unknown('random'),
              holds: 1,
            })),
          ),
    lease: leaseOf(facts),
    waiters: waitersOf(facts.waiters ?? 0),
    fence:
      facts.fence === undefined
        ? { kind: 'none' }
        : { kind: 'token', token: facts.fence, source: facts.source ?? 'counter' },
    heldForMs: unknown('nobody keeps it'),
    helpers: [],
    notes: [],
    identity: undefined,
    server: { endpoint: '127.0.0.1:6379', role: known('primary') },
  };
}

function leaseOf({ ttlMs = 30_123, grantedMs }: LockFacts): Lease {
  if (ttlMs === 'never') return { kind: 'never' };
  if (ttlMs === 'session') {
    return { kind: 'session', sessionId: stringToText('0x1'), timeoutMs: known(4000) };
  }
  return {
    kind: 'ttl',
    ttlMs,
    grantedMs: grantedMs === undefined ? unknown('not told') : known(grantedMs),
  };
}

function waitersOf(waiters: readonly string[] | number): Waiters {
  if (typeof waiters === 'number') return { kind: 'count', count: waiters, source: 'test' };
  const list = waiters.map((owner, at) => ({ position: at + 1, owner: stringToText(owner) }));
  return { kind: 'exact', list };
}

/** A look that took no time, `atMs` after the beginning. */
export function lookAt(
  atMs: number,
  locks: readonly LockSnapshot[],
  more: Partial<Observation> = {},
): Observation {
  return {
    target: 'redis://127.0.0.1:6379',
    startedMs: atMs,
    endedMs: atMs,
    at: new Date(Date.UTC(2026, 0, 1) + atMs).toISOString(),
    locks,
    complete: true,
    ...more,
  };
}
