/**
 * Whether each worker's connections to the lock service come from its own proxies, as every server
 * itself sees them. One that goes round its proxies is out of reach of the faults that these make.
 */
import { displayEndpoint } from '../domain/target.ts';
import type { LockObserver, ServerConnections } from '../protocols/protocol.ts';
import type { Actor } from './actor.ts';

/** A worker as far as its connections go. */
export type ConnectedWorker = Pick<Actor, 'id' | 'clientName'> & {
  readonly proxies: Pick<Actor['proxies'], 'service'>;
};

export interface CheckedWays {
  readonly observer: Pick<LockObserver, 'connectionsOf'>;
  readonly actors: readonly ConnectedWorker[];
  /** A user's own program need not name its connections. */
  readonly ownProgram: boolean;
}

export class WayCheck {
  readonly #ways: CheckedWays;
  readonly #problems = new Set<string>();
  #early = false;

  constructor(ways: CheckedWays) {
    this.#ways = ways;
  }

  /** What was found, a sentence each; empty when every connection comes from a proxy. */
  get problems(): readonly string[] {
    return [...this.#problems];
  }

  /** Before the first fault, while every server must answer. Later calls do nothing. */
  async beforeFault(): Promise<void> {
    if (this.#early) return;
    this.#early = true;
    await this.#check(true);
  }

  /** At the end, when servers may be gone and connections closed: only wrong ways count. */
  async atEnd(): Promise<void> {
    await this.#check(!this.#early);
  }

  async #check(complete: boolean): Promise<void> {
    const { observer, actors, ownProgram } = this.#ways;
    for (const worker of actors) {
      // A connection may open or close while the servers are asked.
      const before = proxied(worker);
      const seen = await observer.connectionsOf?.(worker.clientName);
      if (seen === undefined) return;
      const own = [...before, ...proxied(worker)];
      for (const problem of wrongWays(worker.id, seen, own)) this.#problems.add(problem);
      if (!complete) continue;
      for (const problem of holes(worker, seen, ownProgram)) this.#problems.add(problem);
    }
  }
}

/** A connection of a proxy: which server it leads to, and what that must see. */
interface Proxied {
  readonly server: string;
  readonly address: string;
}

function proxied({ proxies }: ConnectedWorker): readonly Proxied[] {
  return proxies.service.flatMap((proxy) => {
    const server = displayEndpoint(proxy.upstream);
    return proxy.upstreamAddresses().map((address) => ({ server, address }));
  });
}

function wrongWays(
  worker: string,
  seen: readonly ServerConnections[],
  proxies: readonly Proxied[],
): readonly string[] {
  return seen.flatMap(({ server, addresses = [] }) => {
    const own = new Set(
      proxies.filter((one) => one.server === server).map(({ address }) => address),
    );
    const foreign = addresses.filter((address) => !own.has(address));
    // Behind address translation a server sees none of our addresses; then their number must do.
    if (foreign.length === addresses.length && foreign.length <= own.size) return [];
    return foreign.map(
      (address) =>
        `worker ${worker} went round its proxies: ${server} sees its connection from ${address}, which is none of theirs`,
    );
  });
}

function holes(
  worker: ConnectedWorker,
  seen: readonly ServerConnections[],
  ownProgram: boolean,
): readonly string[] {
  const silent = seen.filter(({ addresses }) => addresses === undefined);
  if (silent.length > 0) {
    const names = silent.map(({ server }) => server).join(', ');
    return [
      `whether worker ${worker.id} goes through its proxies is unknown: ${names} did not list its clients`,
    ];
  }
  if (ownProgram || seen.some(({ addresses }) => addresses?.length !== 0)) return [];
  return [`no server shows a connection of worker ${worker.id} before the first fault`];
}
