/** Connections to the nodes of one Redis Cluster, and the map that tells which of them to ask. */
import { FencepostError, PermissionError, TargetError, UsageError } from '../../domain/errors.ts';
import {
  displayEndpoint,
  displayTarget,
  reachableAt,
  type Endpoint,
  type Target,
} from '../../domain/target.ts';
import type { Text } from '../../domain/text.ts';
import type { BackendOptions } from '../backend.ts';
import { ClusterMap, disagreements } from './cluster-map.ts';
import { slotOf } from './hash-slot.ts';
import { RedisConnection } from './connection.ts';

interface Told {
  readonly told: Endpoint;
  readonly map: ClusterMap;
}

export class Cluster {
  readonly display: string;
  readonly #target: Target;
  readonly #options: BackendOptions;
  readonly #connections = new Map<string, RedisConnection>();
  #known: Promise<ClusterMap> | undefined;
  #doubts: readonly string[] = [];

  /** @throws {UsageError} when the target names a database, or on a bad TLS file */
  constructor(target: Target, options: BackendOptions) {
    if (target.path !== '' && target.path !== '0') {
      throw new UsageError(`"${target.path}" is not a database of a Redis Cluster: it has only 0`, {
        code: 'bad-target',
        hint: 'write redis+cluster://host:port,host:port',
        definite: true,
      });
    }
    this.#target = { ...target, path: '' };
    this.#options = options;
    this.display = displayTarget(target);
    for (const endpoint of target.endpoints) this.at(endpoint);
  }

  /** What the nodes disagree about, and which of them were silent, as of the last map. */
  get doubts(): readonly string[] {
    return this.#doubts;
  }

  /** The present map; asked of all the target's hosts at once when there is none. */
  async map(signal: AbortSignal): Promise<ClusterMap> {
    this.#known ??= this.#ask(signal).catch((error: unknown) => {
      this.#known = undefined;
      throw error;
    });
    return this.#known;
  }

  /** To be called when a node says that the map is old. */
  async refresh(signal: AbortSignal): Promise<ClusterMap> {
    this.#known = undefined;
    return this.map(signal);
  }

  /** @throws {TargetError} `slot-unserved` */
  async ownerOf(key: Text, signal: AbortSignal): Promise<RedisConnection> {
    const slot = slotOf(key);
    const owner = (await this.map(signal)).ownerOf(slot);
    if (owner === undefined) {
      throw new TargetError(`no node of ${this.display} serves slot ${slot}`, {
        code: 'slot-unserved',
        hint: 'see CLUSTER INFO and CLUSTER NODES on any node',
        definite: true,
      });
    }
    return this.at(owner.endpoint);
  }

  /** The connection to one node; opened when first used. */
  at(endpoint: Endpoint): RedisConnection {
    const name = displayEndpoint(endpoint);
    const known = this.#connections.get(name);
    if (known !== undefined) return known;
    const node: Target = { ...this.#target, kind: 'redis', endpoints: [endpoint] };
    const made = new RedisConnection(node, this.#options);
    this.#connections.set(name, made);
    return made;
  }

  /** The connection to a node by the address that the cluster calls it. */
  atAnnounced(endpoint: Endpoint): RedisConnection {
    return this.at(reachableAt(this.#target, endpoint));
  }

  async #ask(signal: AbortSignal): Promise<ClusterMap> {
    const answers = await Promise.all(
      this.#target.endpoints.map((endpoint) => this.#askNode(endpoint, signal).catch(asError)),
    );
    const errors = answers.filter((one) => one instanceof FencepostError);
    const told = answers.flatMap((one) => (one instanceof FencepostError ? [] : [one]));
    const [first, ...rest] = told.sort((a, b) => b.map.epoch - a.map.epoch);
    if (first === undefined) {
      throw (
        errors.find((one) => one instanceof PermissionError || one instanceof UsageError) ??
        errors[0] ??
        new TargetError(`${this.display} names no host`, { code: 'target-unreachable' })
      );
    }
    this.#doubts = [
      ...disagreements(first.map, rest),
      ...errors.map((error) => `a node cannot be asked: ${error.message}`),
    ];
    return first.map;
  }

  async #askNode(endpoint: Endpoint, signal: AbortSignal): Promise<Told> {
    const [slots, info] = await this.at(endpoint).sendAll(
      [
        ['CLUSTER', 'SLOTS'],
        ['CLUSTER', 'INFO'],
      ],
      { signal },
    );
    for (const answer of [slots, info]) {
      if (!(answer instanceof Error)) continue;
      if (/cluster support disabled/i.test(answer.message)) throw this.#notClustered(endpoint);
      throw answer;
    }
    return { told: endpoint, map: ClusterMap.parse(this.#target, endpoint, slots, info) };
  }

  #notClustered(endpoint: Endpoint): UsageError {
    return new UsageError(`${displayEndpoint(endpoint)} is no node of a Redis Cluster`, {
      code: 'not-a-cluster',
      hint: 'use redis:// for a single server, redis+sentinel:// for its sentinels, redlock:// for independent ones',
      definite: true,
    });
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
  }
}

function asError(error: unknown): FencepostError {
  if (error instanceof FencepostError) return error;
  throw error;
}
