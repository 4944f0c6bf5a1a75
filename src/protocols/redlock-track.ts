/**
 * How a Redlock hold ended, told server by server: each has a clock of its own and is read at an
 * instant of its own, so a deadline seen on one says nothing about the moment on another.
 */
import type { OwnerToken } from '../domain/holder.ts';
import { LockTrack, type Look } from './redis-observer.ts';

export class RedlockTrack {
  readonly #servers: readonly LockTrack[];
  readonly #majority: number;
  readonly #holders = new Set<OwnerToken>();

  constructor(servers: number, majority: number) {
    this.#servers = Array.from({ length: servers }, () => new LockTrack());
    this.#majority = majority;
  }

  /** One look at one server, by that server's clock. */
  add(server: number, look: Look): void {
    this.#servers[server]?.add(look);
  }

  /** A look found this owner on a majority. */
  held(owner: OwnerToken): void {
    this.#holders.add(owner);
  }

  /** Owners that a look found on a majority, in the order in which they were first found there. */
  owners(): readonly OwnerToken[] {
    return [...this.#holders];
  }

  /**
   * Removed early when early removals alone left no majority; expired when a majority outlived them
   * and is gone since its TTLs ran out.
   */
  end(owner: OwnerToken): ReturnType<LockTrack['end']> {
    const seen = this.#servers.filter((track) => track.owners().includes(owner));
    const ends = seen.map((track) => track.end(owner));
    const of = (cause: string): typeof ends => ends.filter((end) => end.cause === cause);
    const told = (some: typeof ends): string =>
      `on ${some.length} of ${this.#servers.length} servers: ${some[0]?.witness ?? 'never seen'}`;
    const [early, expired] = [of('removed-early'), of('expired')];
    const outlived = seen.length - early.length;
    if (early.length > 0 && outlived < this.#majority) {
      return { cause: 'removed-early', witness: told(early) };
    }
    if (expired.length > 0 && outlived - expired.length < this.#majority) {
      return { cause: 'expired', witness: told(expired) };
    }
    return { cause: 'unknown', witness: told(of('unknown')) };
  }
}
