/**
 * Follows the nodes of one lock from its first reading on: who held it and how each hold ended.
 * ZooKeeper keeps no history, so what came and went between two readings is missing here; the
 * parent's own counter tells how much that was.
 */
import type { WatchEvent } from '../clients/zookeeper/lean-connection.ts';
import type { NodeStat } from '../clients/zookeeper/session.ts';
import { FencepostError } from '../domain/errors.ts';
import type { OwnerToken } from '../domain/holder.ts';
import { bytesToText } from '../domain/text.ts';
import type { ObservedEnd } from './protocol.ts';
import { isNoNode, lockPath } from './zookeeper-client.ts';
import { contendersOf, marksItsRelease } from './zookeeper-contenders.ts';
import type { LeaseSession } from './zookeeper-lease.ts';
import type { SessionTrack } from './zookeeper-sessions.ts';

const patienceMs = 5000;

/** `queue`: contenders under the lock's node, the first holds. `node`: the lock's node itself. */
export type ZooKeeperLayout = 'queue' | 'node';

/** One node that holds the lock or waits for it. */
interface Noted {
  readonly path: string;
  readonly owner: OwnerToken;
  readonly czxid: bigint;
  readonly session: bigint;
  /** Its owner wrote to it: that is how a queue's node is released. */
  marked: boolean;
  /** Number of the connection that its watch hangs on. */
  armedOn: number;
}

/** One grant as it was seen. */
export interface Hold {
  readonly owner: OwnerToken;
  /** czxid of its node. */
  readonly fence: bigint;
  /** Transaction that made it the holder. */
  readonly order: bigint;
  readonly record: string;
  /** Asked for as soon as its node was seen gone. */
  end: Promise<Omit<ObservedEnd, 'owner'>> | undefined;
}

/** What one reading shows, contenders in their order. */
interface Reading {
  readonly present: readonly Noted[];
  /** Transaction of the last change, where the layout tells it. */
  readonly changedAt: bigint | undefined;
}

export class LockFollower {
  readonly #session: LeaseSession;
  readonly #track: SessionTrack;
  readonly #layout: ZooKeeperLayout;
  readonly #path: string;
  readonly #noted = new Map<bigint, Noted>();
  readonly #holds: Hold[] = [];
  #counted: { readonly parent: bigint; readonly creations: number } | undefined;
  #missed = 0;
  #readings: Promise<unknown> = Promise.resolve();

  constructor(session: LeaseSession, track: SessionTrack, layout: ZooKeeperLayout, lock: string) {
    this.#session = session;
    this.#track = track;
    this.#layout = layout;
    this.#path = lockPath(lock);
    session.onEvent((event) => {
      this.#take(event);
    });
  }

  /** In the order of grants. */
  get holds(): readonly Hold[] {
    return this.#holds;
  }

  /** The last hold, if it has not ended. */
  get present(): Hold | undefined {
    const last = this.#holds.at(-1);
    return last?.end === undefined ? last : undefined;
  }

  /** What a reader of the holds must know, for a witness. */
  get completeness(): string {
    const missed = `${this.#missed} contenders came and went between two looks`;
    return this.#layout === 'queue' ? missed : 'holds between two looks leave no trace';
  }

  /** Brings everything up to date. Readings are made one after the other. @throws {FencepostError} */
  read(): Promise<void> {
    const reading = this.#readings.then(() => this.#readPatiently());
    this.#readings = reading.catch(() => undefined);
    return reading;
  }

  #take({ type, path }: WatchEvent): void {
    if (path !== this.#path && !path.startsWith(`${this.#path}/`)) return;
    for (const noted of this.#noted.values()) {
      if (noted.path === path && type === 'changed') noted.marked = true;
    }
    this.read().catch((error: unknown) => {
      // The next reading that somebody asked for meets the same failure and tells it.
      if (!(error instanceof FencepostError)) throw error;
    });
  }

  /** A connection that broke, or an election, is no reason to give up: reading changes nothing. */
  #readPatiently(): Promise<void> {
    return this.#session.persist(() => this.#readOnce(), performance.now() + patienceMs);
  }

  async #readOnce(): Promise<void> {
    await this.#session.use((connection) => connection.sync(this.#path));
    const reading = this.#layout === 'queue' ? await this.#readQueue() : await this.#readNode();
    const present = new Set(reading.present.map(({ czxid }) => czxid));
    const gone = [...this.#noted.values()].filter(({ czxid }) => !present.has(czxid));
    for (const noted of gone) this.#remove(noted, reading.changedAt);
    await this.#track.follow(reading.present.map(({ session }) => session));
    const [first] = reading.present;
    if (first === undefined || this.present !== undefined) return;
    const { owner, czxid: fence, path: record } = first;
    const order = reading.changedAt ?? fence;
    this.#holds.push({ owner, fence, order, record, end: undefined });
  }

  async #readQueue(): Promise<Reading> {
    let children: readonly string[];
    let stat: NodeStat;
    try {
      ({ children, stat } = await this.#session.use((connection) =>
        connection.getChildren(this.#path, true),
      ));
    } catch (error) {
      if (!isNoNode(error)) throw error;
      await this.#session.use((connection) => connection.exists(this.#path, true));
      return { present: [], changedAt: undefined };
    }
    const present: Noted[] = [];
    let added = 0;
    for (const { name } of contendersOf(children)) {
      const path = `${this.#path}/${name}`;
      const known = [...this.#noted.values()].find((noted) => noted.path === path);
      const noted = await this.#note(path, known);
      if (noted === undefined) continue;
      present.push(noted);
      if (known === undefined) added += 1;
    }
    this.#count(stat, added);
    return { present, changedAt: stat.pzxid };
  }

  async #readNode(): Promise<Reading> {
    const path = this.#path;
    // Also tells of a creation, unlike a watch on the data.
    const stat = await this.#session.use((connection) => connection.exists(path, true));
    if (stat === undefined) return { present: [], changedAt: undefined };
    const noted = await this.#note(path, this.#noted.get(stat.czxid));
    return { present: noted === undefined ? [] : [noted], changedAt: undefined };
  }

  /** Reads a node and watches it, unless that was done on this connection. */
  async #note(path: string, known: Noted | undefined): Promise<Noted | undefined> {
    const armedOn = this.#session.connections;
    if (known?.armedOn === armedOn) return known;
    try {
      const { data, stat } = await this.#session.use((connection) =>
        connection.getData(path, true),
      );
      const before = this.#noted.get(stat.czxid);
      const noted = before ?? {
        path,
        owner: bytesToText(data),
        czxid: stat.czxid,
        session: stat.ephemeralOwner,
        marked: false,
        armedOn,
      };
      noted.armedOn = armedOn;
      noted.marked ||= stat.version > 0;
      this.#noted.set(noted.czxid, noted);
      return noted;
    } catch (error) {
      if (isNoNode(error)) return undefined;
      throw error;
    }
  }

  /** The parent counts creations and deletions: contenders that no reading showed are in it. */
  #count({ czxid: parent, cversion, numChildren }: NodeStat, added: number): void {
    const creations = (cversion + numChildren) / 2;
    const before = this.#counted?.parent === parent ? this.#counted.creations : creations - added;
    this.#missed += Math.max(0, creations - before - added);
    this.#counted = { parent, creations };
  }

  #remove(noted: Noted, changedAt: bigint | undefined): void {
    this.#noted.delete(noted.czxid);
    const { present } = this;
    if (present?.fence === noted.czxid) present.end = this.#endOf(noted, changedAt);
    else this.#track.forget(noted.session);
  }

  async #endOf(noted: Noted, order: bigint | undefined): Promise<Omit<ObservedEnd, 'owner'>> {
    const at = order === undefined ? '' : ` at zxid ${order}`;
    const queue = this.#layout === 'queue';
    if (queue && noted.marked) {
      this.#track.forget(noted.session);
      return { order, cause: 'released', witness: `written by its owner, then deleted${at}` };
    }
    if (noted.armedOn !== this.#session.connections) {
      this.#track.forget(noted.session);
      return { order, cause: 'unknown', witness: `gone${at} while the observer was disconnected` };
    }
    const { fate, seen } = await this.#track.endOf(noted.session);
    const witness = `deleted${at}; ${seen}`;
    if (fate === 'alive') {
      // Without a mark a release looks like anybody's deletion.
      const cause = queue && !marksItsRelease(noted.path) ? 'unknown' : 'removed-early';
      return { order, cause, witness };
    }
    if (fate === 'ran-out') return { order, cause: 'expired', witness };
    if (fate === 'unknown') return { order, cause: 'unknown', witness };
    // To end the session is how the lone node is released; a queue's node goes before its session.
    return { order, cause: queue ? 'session-ended' : 'released', witness };
  }
}
