/** Which protocols there are, by id; each is loaded only when a run needs it. */
import { UsageError } from '../domain/errors.ts';
import type { BackendKind } from '../domain/target.ts';
import type { LockProtocol } from './protocol.ts';

interface Entry {
  /** Kinds of target it runs on. */
  readonly targets: readonly BackendKind[];
  readonly fenced: boolean;
  readonly load: () => Promise<LockProtocol>;
}

const replicated = ['redis', 'redis-sentinel', 'redis-cluster'] as const;

/** The first fenced and the first unfenced one of a kind are what `fenced` and `unfenced` mean there. */
const protocols: Readonly<Record<string, Entry>> = {
  'redis-fenced': {
    targets: replicated,
    fenced: true,
    load: async () => (await import('./redis-fenced.ts')).redisFenced,
  },
  'redis-set-nx': {
    targets: replicated,
    fenced: false,
    load: async () => (await import('./redis-set-nx.ts')).redisSetNx,
  },
  'redis-wait-fenced': {
    targets: replicated,
    fenced: true,
    load: async () => (await import('./redis-wait.ts')).redisWaitFenced,
  },
  'redis-wait': {
    targets: replicated,
    fenced: false,
    load: async () => (await import('./redis-wait.ts')).redisWait,
  },
  'redlock-fenced': {
    targets: ['redlock'],
    fenced: true,
    load: async () => (await import('./redlock.ts')).redlockFenced,
  },
  'redlock-plain': {
    targets: ['redlock'],
    fenced: false,
    load: async () => (await import('./redlock.ts')).redlockPlain,
  },
  'etcd-lease': {
    targets: ['etcd'],
    fenced: true,
    load: async () => (await import('./etcd-lease.ts')).etcdLease,
  },
  'etcd-single-key': {
    targets: ['etcd'],
    fenced: false,
    load: async () => (await import('./etcd-single-key.ts')).etcdSingleKey,
  },
  'zookeeper-sequential': {
    targets: ['zookeeper'],
    fenced: true,
    load: async () => (await import('./zookeeper-sequential.ts')).zooKeeperSequential,
  },
  'zookeeper-plain-ephemeral': {
    targets: ['zookeeper'],
    fenced: false,
    load: async () => (await import('./zookeeper-plain-ephemeral.ts')).zooKeeperPlainEphemeral,
  },
};

/** Every protocol id, for help and matrices. */
export function protocolIds(kind?: BackendKind): readonly string[] {
  return Object.entries(protocols)
    .filter(([, entry]) => kind === undefined || entry.targets.includes(kind))
    .map(([id]) => id);
}

/** Target kinds that protocol `id` runs on; undefined when there is no such protocol. */
export function protocolTargets(id: string): readonly BackendKind[] | undefined {
  return Object.hasOwn(protocols, id) ? protocols[id]?.targets : undefined;
}

/**
 * Loads what a scenario names: `fenced`, `unfenced` or a protocol id, on a kind of target.
 * @throws {UsageError} `unknown-protocol`, or `protocol-target` when it does not run there
 */
export async function openProtocol(name: string, kind: BackendKind): Promise<LockProtocol> {
  const id = resolve(name, kind);
  const entry = Object.hasOwn(protocols, id) ? protocols[id] : undefined;
  if (entry === undefined) {
    throw new UsageError(`there is no protocol "${name}"`, {
      code: 'unknown-protocol',
      hint: `known: fenced, unfenced, ${Object.keys(protocols).join(', ')}`,
      definite: true,
    });
  }
  if (!entry.targets.includes(kind)) {
    throw new UsageError(`protocol "${id}" does not run on a ${kind} target`, {
      code: 'protocol-target',
      hint: `protocols for it: ${protocolIds(kind).join(', ') || 'none'}`,
      definite: true,
    });
  }
  return entry.load();
}

function resolve(name: string, kind: BackendKind): string {
  if (name !== 'fenced' && name !== 'unfenced') return name;
  const found = Object.entries(protocols).find(
    ([, entry]) => entry.targets.includes(kind) && entry.fenced === (name === 'fenced'),
  );
  if (found !== undefined) return found[0];
  throw new UsageError(`there is no ${name} protocol for a ${kind} target`, {
    code: 'unknown-protocol',
    hint: `known: ${Object.keys(protocols).join(', ')}`,
    definite: true,
  });
}
