/**
 * How sessions ended, as far as the members tell: ZooKeeper itself gives no reason. A session that
 * was not heard of for its whole timeout ran out; one that was heard of until shortly before was
 * closed by who has its id and password. Both are told from looks at the members' connections.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { MemberConnection } from '../clients/zookeeper/member-connection.ts';
import { readConnections } from '../clients/zookeeper/members.ts';
import type { Known } from '../domain/known.ts';
import type { Target } from '../domain/target.ts';

/** `alive`: it outlived what was looked at. */
export interface SessionEnd {
  readonly fate: 'alive' | 'ran-out' | 'closed' | 'unknown';
  /** What was seen, for a witness. */
  readonly seen: string;
}

interface Track {
  readonly timeoutMs: number | undefined;
  /** The member's own account of the last exchange: it grows with each. */
  readonly sign: string;
  /** Looks between which the last exchange took place; this machine's monotonic clock. */
  readonly heardAfterMs: number;
  readonly heardByMs: number;
  readonly lastLookMs: number;
}

type Connections = ReadonlyMap<bigint, MemberConnection>;

const lookEveryMs = 200;
/** A member still lists the connection of a session for a moment after the session's end. */
const afterglowMs = 100;

export class SessionTrack {
  readonly #target: Target;
  readonly #timeoutMs: number;
  readonly #followed = new Map<bigint, Track | undefined>();
  #timer: NodeJS.Timeout | undefined;
  #looks: Promise<unknown> = Promise.resolve();

  constructor(target: Target, timeoutMs: number) {
    this.#target = target;
    this.#timeoutMs = timeoutMs;
  }

  /** Looks at once if one of them is new, and then regularly until each is forgotten. */
  async follow(sessions: readonly bigint[]): Promise<void> {
    const fresh = sessions.filter((session) => !this.#followed.has(session));
    if (fresh.length === 0) return;
    for (const session of fresh) this.#followed.set(session, undefined);
    this.#timer ??= setInterval(() => void this.connections(), lookEveryMs);
    await this.connections();
  }

  forget(session: bigint): void {
    this.#followed.delete(session);
    if (this.#followed.size === 0) this.close();
  }

  /** What became of a session whose node has just gone; it is forgotten. */
  async endOf(session: bigint): Promise<SessionEnd> {
    const goneMs = performance.now();
    if (await this.#isThere(session)) {
      await sleep(afterglowMs);
      if (await this.#isThere(session)) return { fate: 'alive', seen: 'its session is connected' };
    }
    const connections = await this.connections();
    const track = this.#followed.get(session);
    this.forget(session);
    if (connections.kind !== 'known') {
      return { fate: 'unknown', seen: `the members do not tell: ${connections.reason}` };
    }
    return fateOf(track, goneMs);
  }

  /** One look; every session followed is brought up to date. Looks are made one after the other. */
  connections(): Promise<Known<Connections>> {
    const look = this.#looks.then(async () => {
      const connections = await readConnections(this.#target, this.#timeoutMs);
      if (connections.kind !== 'unknown') this.#note(connections.value);
      return connections;
    });
    this.#looks = look;
    return look;
  }

  close(): void {
    this.#followed.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #isThere(session: bigint): Promise<boolean> {
    const connections = await this.connections();
    return connections.kind !== 'unknown' && connections.value.has(session);
  }

  #note(connections: Connections): void {
    const nowMs = performance.now();
    for (const [session, before] of this.#followed) {
      const connection = connections.get(session);
      if (connection !== undefined) this.#followed.set(session, next(before, connection, nowMs));
    }
  }
}

function next(before: Track | undefined, connection: MemberConnection, nowMs: number): Track {
  const { timeoutMs, packetsReceived, lastResponseMs } = connection;
  const sign = `${packetsReceived ?? ''} ${lastResponseMs ?? ''}`;
  if (before?.sign === sign) return { ...before, lastLookMs: nowMs };
  // Looked at for the first time right after it made its node.
  const heardAfterMs = before?.lastLookMs ?? nowMs - lookEveryMs;
  return { timeoutMs, sign, heardAfterMs, heardByMs: nowMs, lastLookMs: nowMs };
}

function fateOf(track: Track | undefined, goneMs: number): SessionEnd {
  if (track?.timeoutMs === undefined) {
    return { fate: 'unknown', seen: 'its session was gone before anybody looked' };
  }
  const { timeoutMs, heardAfterMs, heardByMs, lastLookMs } = track;
  const silentMs = Math.round(goneMs - heardByMs);
  const seen = `its session of ${timeoutMs} ms is gone, not heard of for at least ${silentMs} ms`;
  // The silence may have begun before the look that first showed it.
  const wholeTimeout = goneMs - heardAfterMs >= timeoutMs;
  const lookedMeanwhile = goneMs - lastLookMs <= timeoutMs / 2;
  return { fate: wholeTimeout && lookedMeanwhile ? 'ran-out' : 'closed', seen };
}
