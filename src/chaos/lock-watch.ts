/**
 * Watches the lock from the outside while a run goes on, and records what the service itself shows:
 * who holds it, each grant in the service's order, and how each grant ended.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { OwnerToken } from '../domain/holder.ts';
import type {
  LockObserver,
  ObservedEnd,
  ObservedGrant,
  ObservedState,
} from '../protocols/protocol.ts';
import type { Recorder } from './recorder.ts';

export interface WatchedLock {
  readonly observer: LockObserver;
  readonly lock: string;
  /** Name of the service's witness, for the history. */
  readonly witness: string;
  readonly recorder: Recorder;
  readonly everyMs: number;
}

/** The hold that a look saw last. */
export type SeenHold = Extract<ObservedState, { kind: 'held' }>;

export class LockWatch {
  readonly #watched: WatchedLock;
  readonly #grants = new Map<string, ObservedGrant>();
  readonly #ends = new Map<OwnerToken, ObservedEnd>();
  #last: ObservedState | undefined;
  #lastHold: SeenHold | undefined;
  readonly #holds = new Map<OwnerToken, SeenHold>();
  #looks: Promise<unknown> = Promise.resolve();
  #failure: unknown;
  #stopped = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(watched: WatchedLock) {
    this.#watched = watched;
  }

  /** Begins to look regularly. A failing look ends the watch and is told by `failure`. */
  start(): void {
    this.#loop = this.#lookOn();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#loop;
  }

  /** Why the watch ended early, if it did. */
  get failure(): unknown {
    return this.#failure;
  }

  /** How the grant of `owner` ended, as far as seen. */
  endOf(owner: OwnerToken): ObservedEnd | undefined {
    return this.#ends.get(owner);
  }

  /** The hold that a look saw last, also when it has ended since. */
  get lastHold(): SeenHold | undefined {
    return this.#lastHold;
  }

  /** The last look at a hold of `owner`. */
  holdOf(owner: OwnerToken | undefined): SeenHold | undefined {
    return owner === undefined ? undefined : this.#holds.get(owner);
  }

  get grants(): readonly ObservedGrant[] {
    return [...this.#grants.values()];
  }

  /**
   * One look now, recorded even if nothing changed when `always` is set.
   * @throws {TargetError} `observation-failed`
   */
  look(always = false): Promise<ObservedState> {
    const mine = this.#looks.then(() => this.#lookOnce(always));
    // The next look begins whatever became of this one; its own caller sees the error.
    this.#looks = mine.catch(() => undefined);
    return mine;
  }

  /** Does `work` while nobody looks. It must not look itself. */
  lookAway<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#looks.then(work);
    this.#looks = mine.catch(() => undefined);
    return mine;
  }

  /** Looks until `wanted` is true; undefined when `withinMs` is over first. */
  async until(
    wanted: (state: ObservedState) => boolean,
    withinMs: number,
    signal: AbortSignal,
  ): Promise<ObservedState | undefined> {
    const deadline = performance.now() + withinMs;
    for (;;) {
      const state = await this.look();
      if (wanted(state)) return state;
      if (performance.now() > deadline) return undefined;
      await delay(this.#watched.everyMs, undefined, { signal });
    }
  }

  /** Reads the list of grants to its end and says so in the history. Call it after quiescence. */
  async settle(): Promise<void> {
    const state = await this.look(true);
    await this.#readGrants(state);
    const { lock, witness, recorder } = this.#watched;
    recorder.record({
      kind: 'observation',
      process: 'observer',
      source: 'service',
      fact: 'read-to-end',
      lock,
      witness,
    });
  }

  async #lookOn(): Promise<void> {
    try {
      while (!this.#stopped) {
        await this.look();
        await delay(this.#watched.everyMs);
      }
    } catch (error) {
      this.#failure = error;
    }
  }

  async #lookOnce(always: boolean): Promise<ObservedState> {
    const state = await this.#watched.observer.state(this.#watched.lock);
    const before = this.#last;
    this.#last = state;
    if (state.kind === 'held') {
      this.#lastHold = state;
      this.#holds.set(state.owner, state);
    }
    const changed = before === undefined || ownerOf(before) !== ownerOf(state);
    if (changed) await this.#readGrants(state);
    if (changed || always || wasLengthened(before, state)) this.#recordState(state);
    return state;
  }

  /** Records grants not seen before, and the end of each whose owner no longer holds. */
  async #readGrants(state: ObservedState): Promise<void> {
    const { observer, lock, witness, recorder } = this.#watched;
    const about = { kind: 'observation', process: 'observer', source: 'service', lock } as const;
    for (const grant of await observer.grants(lock)) {
      const { owner, order } = grant;
      const fence = grant.fence === undefined ? {} : { fence: grant.fence };
      if (!this.#grants.has(owner)) {
        this.#grants.set(owner, grant);
        recorder.record({ ...about, fact: 'grant', owner, ...fence, order, witness });
      }
      if (owner === ownerOf(state) || this.#ends.has(owner)) continue;
      const end = await observer.end(lock, owner);
      this.#ends.set(owner, end);
      const lapsed = end.cause === 'expired' || end.cause === 'session-ended';
      recorder.record({
        ...about,
        fact: lapsed ? 'expiry' : 'removal',
        owner,
        ...fence,
        cause: end.cause,
        ...(end.order === undefined ? {} : { order: end.order }),
        witness: end.witness,
      });
    }
  }

  #recordState(state: ObservedState): void {
    const { lock, recorder } = this.#watched;
    recorder.record({
      kind: 'observation',
      process: 'observer',
      source: 'service',
      fact: 'lock-state',
      lock,
      witness: (state.kind === 'absent' ? state.partial : undefined) ?? 'record',
      ...(state.kind === 'absent'
        ? { absent: true }
        : {
            owner: state.owner,
            ...(state.fence === undefined ? {} : { fence: state.fence }),
            ...(state.ttlMs === undefined ? {} : { ttlMs: state.ttlMs }),
          }),
    });
  }
}

function ownerOf(state: ObservedState): OwnerToken | undefined {
  return state.kind === 'held' ? state.owner : undefined;
}

/** Its time left grew: somebody renewed it. */
function wasLengthened(before: ObservedState | undefined, now: ObservedState): boolean {
  if (before?.kind !== 'held' || now.kind !== 'held') return false;
  return (now.ttlMs ?? 0) > (before.ttlMs ?? 0);
}
