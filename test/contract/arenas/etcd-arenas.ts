/**
 * Arenas of the release race on etcd: a queue of keys as Go's mutex and etcdctl leave it, and the
 * single key of the npm package etcd3. Keys are empty as those libraries write them, so the arena
 * knows owners by the revision of their grant. The next owner comes to the very key that was seen.
 */
import { openMember, type EtcdApi } from '../../../src/clients/etcd/member.ts';
import { valueOf } from '../../../src/domain/known.ts';
import type { LockDetail } from '../../../src/domain/lock.ts';
import { parseTarget } from '../../../src/domain/target.ts';
import { parseText } from '../../../src/domain/text.ts';
import { hex, openTarget } from '../etcd/etcd-seeder.ts';
import { keepTrying, type NaiveRelease, type ReleaseArena, type Round } from './arena.ts';

/** Where one layout keeps its keys, and how the first owner and the next come by their names. */
export interface EtcdLayout {
  /** Goes into every name, so that races on one server never meet. */
  readonly id: string;
  /** The key of a contender with this lease. */
  key(name: string, lease: string): string;
  /** The range of all contenders' keys. */
  contenders(name: string): { readonly key: Buffer; readonly range_end?: Buffer };
  /** Whether the next owner of this round comes on the same lease, or with one of its own. */
  readonly lease: 'same' | 'own';
  /** Whether the next owner of this round stands in the queue with a key of its own. */
  waits(round: number): boolean;
  readonly naive: (operator: EtcdApi) => readonly NaiveRelease[];
}

/** Whole seconds: no lease of a race ends by itself while it runs. */
const leaseSeconds = 3600;

/**
 * `name/<lease hex>`. Mostly another thread of the same session comes next: it writes the same key
 * on the same lease. After an expiry the session is opened again under the same lease id, as
 * programs do that choose it. In every fourth round a waiter with a session of its own comes next.
 */
export const queueLayout: EtcdLayout = {
  id: 'queue',
  key: (name, lease) => `${name}/${hex(lease)}`,
  contenders: (name) => ({ key: Buffer.from(`${name}/`), range_end: Buffer.from(`${name}0`) }),
  lease: 'same',
  waits: (round) => round % 4 === 3,
  naive: (operator) => [
    ...byName(operator),
    {
      title: 'a revocation of its lease',
      async release(seen) {
        const { lease } = seenKey(seen);
        await revoke(operator, lease);
      },
    },
    {
      title: 'a deletion of everything under its name',
      async release({ ref }) {
        await operator.kv.deleteRange(queueLayout.contenders(ref.name), deadline());
      },
    },
  ],
};

/** `name`: whoever creates it has the lock, each time under a new lease. */
export const singleKeyLayout: EtcdLayout = {
  id: 'key',
  key: (name) => name,
  contenders: (name) => ({ key: Buffer.from(name) }),
  lease: 'own',
  waits: () => false,
  naive: (operator) => byName(operator),
};

function byName(operator: EtcdApi): readonly NaiveRelease[] {
  return [
    {
      title: 'a deletion of its key by name',
      async release(seen) {
        await operator.kv.deleteRange({ key: seenKey(seen).key }, deadline());
      },
    },
    {
      title: 'a read that compares its create revision, then a deletion',
      async release(seen) {
        const { key, createRevision } = seenKey(seen);
        const { kvs } = await operator.kv.range({ key }, deadline());
        if (kvs[0]?.create_revision !== createRevision) return;
        await operator.kv.deleteRange({ key }, deadline());
      },
    },
  ];
}

/** What an operator reads off the screen. */
function seenKey({ facts, holders }: LockDetail): {
  readonly key: Buffer;
  readonly createRevision: string;
  readonly lease: string;
} {
  const { createRevision, lease } = facts;
  const key = valueOf(holders)?.[0]?.record;
  if (key === undefined || createRevision === undefined || lease === undefined) {
    throw new Error('the lock was shown without its key');
  }
  return { key: Buffer.from(key), createRevision, lease: BigInt(`0x${lease}`).toString() };
}

/** One round's lock. */
interface Contest {
  readonly round: Round;
  readonly lease: string;
  readonly revision: string;
  /** The first owner's grant has ended, by its own doing. */
  readonly lost: { readonly promise: Promise<void>; readonly tell: () => void };
}

/** Opens the arena of one layout on the etcd at `url`. */
export async function openEtcdArena(url: string, layout: EtcdLayout): Promise<ReleaseArena> {
  const backend = await openTarget(url);
  const [endpoint] = parseTarget(url).endpoints;
  // Each has a connection of its own, and nothing that sends twice.
  const [owners, takers, judge, operator] = [1, 2, 3, 4].map(
    () => openMember(endpoint, undefined).api,
  ) as [EtcdApi, EtcdApi, EtcdApi, EtcdApi];
  const contests = new Map<string, Contest>();
  const owner = new Map<string, string>();
  const contest = (name: string): Contest => {
    const found = contests.get(name);
    if (found === undefined) throw new Error(`nobody took ${name}`);
    return found;
  };
  return {
    reusesName: ({ number }) => !layout.waits(number),
    backend,
    ref: (round) => ({ name: parseText(`/race/${layout.id}/lock-${round}`) }),
    async take({ name }, word, round) {
      const lease = await grant(owners);
      const revision = await create(owners, layout.key(name, lease), lease);
      if (revision === undefined) throw new Error(`${name} is taken`);
      contests.set(name, { round, lease, revision, lost: signal() });
      owner.set(revision, word);
    },
    async lose({ name }) {
      const { round, lease, revision, lost } = contest(name);
      if (round.ends === 'expiry') await revoke(owners, lease);
      else await deleteGrant(owners, layout.key(name, lease), revision);
      lost.tell();
    },
    async takeNext({ name }, word) {
      const of = contest(name);
      const own = layout.lease === 'own' || layout.waits(of.round.number);
      const take = own ? takeOnOwnLease : takeOnSameLease;
      owner.set(await take(takers, layout, name, of), word);
    },
    async readRecord({ name }) {
      const [revision] = await createRevisions(judge, layout, name);
      if (revision === undefined) return undefined;
      return { owner: owner.get(revision) ?? 'somebody unknown', intact: true };
    },
    naive: layout.naive(operator),
    async close() {
      await backend.close();
      for (const api of [owners, takers, judge, operator]) api.close();
    },
  };
}

/** A promise and what fulfils it. */
function signal(): Contest['lost'] {
  let tell: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => (tell = resolve));
  return { promise, tell };
}

/**
 * The key that was seen, created again on the same lease id. After an expiry that id waits until
 * it is over, because a revocation cannot tell one grant of an id from the next.
 * @returns the revision of the grant
 */
async function takeOnSameLease(
  api: EtcdApi,
  layout: EtcdLayout,
  name: string,
  { round, lease, lost }: Contest,
): Promise<string> {
  if (round.ends === 'expiry') {
    await lost.promise;
    await grant(api, lease);
  }
  return createWhenFree(api, layout.key(name, lease), lease);
}

/** A single key can be created when it is gone; a waiter's stands behind the holder's until then. */
async function takeOnOwnLease(api: EtcdApi, layout: EtcdLayout, name: string): Promise<string> {
  const lease = await grant(api);
  const since = await createWhenFree(api, layout.key(name, lease), lease);
  await keepTrying(name, async () => {
    const revisions = await createRevisions(api, layout, name);
    // Gone from the queue: somebody deleted it, and the judge will see that.
    return revisions[0] === since || !revisions.includes(since);
  });
  return since;
}

async function createWhenFree(api: EtcdApi, key: string, lease: string): Promise<string> {
  let revision: string | undefined;
  await keepTrying(key, async () => {
    try {
      revision = await create(api, key, lease);
    } catch (error) {
      // A wrong release took the session away: it begins again.
      if (!isLeaseNotFound(error)) throw error;
      await grant(api, lease);
    }
    return revision !== undefined;
  });
  return revision ?? '';
}

/** Of all contenders' keys; the holder's first. */
async function createRevisions(
  api: EtcdApi,
  layout: EtcdLayout,
  name: string,
): Promise<readonly string[]> {
  const request = { sort_target: 'Create', sort_order: 'Ascend' } as const;
  const { kvs } = await api.kv.range({ ...layout.contenders(name), ...request }, deadline());
  return kvs.map(({ create_revision }) => create_revision);
}

/** @returns the create revision, or undefined when the key is there already */
async function create(api: EtcdApi, key: string, lease: string): Promise<string | undefined> {
  const bytes = Buffer.from(key);
  const reply = await api.kv.txn(
    {
      compare: [{ key: bytes, target: 'Version', result: 'Equal', version: '0' }],
      success: [{ request_put: { key: bytes, value: Buffer.alloc(0), lease } }],
    },
    deadline(),
  );
  return reply.succeeded ? reply.header.revision : undefined;
}

async function deleteGrant(api: EtcdApi, key: string, createRevision: string): Promise<void> {
  const bytes = Buffer.from(key);
  await api.kv.txn(
    {
      compare: [{ key: bytes, target: 'Create', result: 'Equal', create_revision: createRevision }],
      success: [{ request_delete_range: { key: bytes } }],
    },
    deadline(),
  );
}

/** @returns the lease id, in decimal */
async function grant(api: EtcdApi, id = '0'): Promise<string> {
  return (await api.leaseClient.leaseGrant({ TTL: leaseSeconds, ID: id }, deadline())).ID;
}

/** A lease that has ended already is no failure. */
async function revoke(api: EtcdApi, id: string): Promise<void> {
  try {
    await api.leaseClient.leaseRevoke({ ID: id }, deadline());
  } catch (error) {
    if (!isLeaseNotFound(error)) throw error;
  }
}

function isLeaseNotFound(error: unknown): boolean {
  return error instanceof Error && error.message.includes('requested lease not found');
}

function deadline(): { readonly deadline: number } {
  return { deadline: Date.now() + 30_000 };
}
