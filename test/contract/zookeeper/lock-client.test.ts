/**
 * What only the ZooKeeper lock clients promise, beyond the contract of all protocols: who watches
 * whom, what is told of a loss, and what the observer can tell of ends and of what it missed.
 */
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openServiceProxies } from '../../../src/chaos/open-proxy.ts';
import { attach } from '../../../src/clients/zookeeper/lean-attach.ts';
import type { LeanConnection } from '../../../src/clients/zookeeper/lean-connection.ts';
import { readWatches } from '../../../src/clients/zookeeper/members.ts';
import { valueOf } from '../../../src/domain/known.ts';
import { parseTarget } from '../../../src/domain/target.ts';
import { parseText, stringToText } from '../../../src/domain/text.ts';
import { contendersOf, namePrefix } from '../../../src/protocols/zookeeper-contenders.ts';
import type { LockObserver } from '../../../src/protocols/protocol.ts';
import { zooKeeperSequential } from '../../../src/protocols/zookeeper-sequential.ts';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';
import { take } from '../protocol-stage.ts';
import { openTarget } from './zookeeper-seeder.ts';

const lab = useLab({ system: 'zookeeper' });
const context = () => ({
  target: parseTarget(lab.target),
  requestTimeoutMs: 1000,
  clientName: 'fencepost-test',
});
const owner = (name: string) => stringToText(`${name}-${randomBytes(4).toString('hex')}`);

test('a chroot that is not there is a target that cannot be used: exit code 4', async () => {
  const target = { ...context().target, path: 'nope' };
  const refused = { code: 'no-chroot', exitCode: 4 };
  const shared = { ...context(), target };
  await expect(
    zooKeeperSequential.connect({ ...shared, mutation: undefined }),
  ).rejects.toMatchObject(refused);
  await expect(zooKeeperSequential.observe(shared)).rejects.toMatchObject(refused);
});

describe('the ZooKeeper queue', () => {
  let observer: LockObserver;
  let lock = '';
  const opened: (() => Promise<void>)[] = [];

  const client = async () => {
    const one = await zooKeeperSequential.connect({ ...context(), mutation: undefined });
    opened.push(() => one.close());
    return { client: one };
  };
  /** A client behind a proxy of its own. */
  const proxied = async (requestTimeoutMs: number) => {
    const { target } = context();
    const { wire } = zooKeeperSequential;
    const { proxies, url } = await openServiceProxies('A', target, wire, 0n);
    const one = await zooKeeperSequential.connect({
      ...context(),
      target: parseTarget(url),
      requestTimeoutMs,
      mutation: undefined,
    });
    opened.push(async () => {
      await one.close();
      await Promise.all(proxies.map((proxy) => proxy.close()));
    });
    const [proxy] = proxies;
    if (proxy === undefined) throw new Error('no proxy');
    return { client: one, proxy };
  };
  /** A session that does what nobody should, or what no lock client does. */
  const stranger = async (): Promise<LeanConnection> => {
    const one = await attach({ ...context(), session: undefined, wishMs: 4000, lastZxid: 0n });
    opened.push(() => {
      one.drop('the test is over');
      return Promise.resolve();
    });
    return one;
  };

  beforeEach(async () => {
    observer = await zooKeeperSequential.observe(context());
    lock = `fp-test-${randomBytes(6).toString('hex')}/order`;
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((close) => close()));
    await observer.cleanUp(lock.split('/')[0] ?? '');
    await observer.close();
  });

  test('a lease shorter than two ticks is granted as two ticks, and said so', async () => {
    const grant = await take(await client(), lock, owner('a'), 100);
    expect(grant.grantedTtlMs).toBe(1000);
  });

  test('a lease longer than twenty ticks is granted as twenty, and said so', async () => {
    const grant = await take(await client(), lock, owner('a'), 60_000);
    expect(grant.grantedTtlMs).toBe(10_000);
  });

  test('each waiter watches the contender before it and nobody else', async () => {
    const [a, b, c, reader] = [await client(), await client(), await client(), await stranger()];
    await take(a, lock, owner('a'));
    const queue = async () => {
      const { children } = await reader.getChildren(`/${lock}`);
      return contendersOf(children).map(({ name }) => `/${lock}/${name}`);
    };
    const waiting = [];
    for (const [count, one] of [b, c].entries()) {
      waiting.push(take(one, lock, owner('w'), 4000, 20_000));
      await until('it stands in the queue', async () => (await queue()).length === count + 2);
    }
    const nodes = await queue();
    const sessions: bigint[] = [];
    for (const node of nodes) sessions.push((await reader.getData(node)).stat.ephemeralOwner);
    const [, first, second] = await until('both watch', async () => {
      const watches = valueOf(await readWatches(context().target, 1000));
      const paths = sessions.map((session) => [...(watches?.get(session) ?? [])]);
      return paths.every((one) => one.length > 0) && paths;
    });
    expect(first).toEqual([nodes[0]]);
    expect(second).toEqual([nodes[1]]);
    await Promise.all([a, b, c].map((one) => one.client.close()));
    await Promise.allSettled(waiting);
  });

  test('inspection shows the grant as a mutex with its owner, its waiter and its fence', async () => {
    const [a, b, name] = [await client(), await client(), owner('a')];
    const grant = await take(a, lock, name);
    const waiting = take(b, lock, owner('b'), 4000, 20_000);
    const backend = await openTarget(lab.target);
    try {
      const { signal } = new AbortController();
      const detail = await until('the waiter is listed', async () => {
        const seen = await backend.inspect({ name: parseText(`/${lock}`) }, signal);
        return seen?.waiters.kind === 'exact' && seen.waiters.list.length === 1 && seen;
      });
      expect(detail.recognition).toMatchObject({ convention: 'curator-mutex', confidence: 'high' });
      expect(valueOf(detail.holders)?.map((holder) => holder.owner)).toEqual([name]);
      expect(detail.fence).toMatchObject({ kind: 'token', token: grant.fence });
    } finally {
      await backend.close();
    }
    await a.client.release(lock, grant);
    await waiting;
  });

  test('a holder whose node is deleted by another is told, and the observer says removed', async () => {
    const [a, other] = [await client(), await stranger()];
    const told: string[] = [];
    a.client.onLost((name) => told.push(name));
    const grant = await take(a, lock, owner('a'));
    await observer.state(lock);
    await other.remove(grant.record, -1);
    await until('the holder is told', () => told.length > 0);
    expect(told).toEqual([lock]);
    expect(await a.client.renew(lock, grant, 4000)).toMatchObject({
      outcome: 'fail',
      code: 'not-owner',
    });
    expect(await observer.end(lock, grant.owner)).toMatchObject({ cause: 'removed-early' });
  });

  test('a holder that hears nothing for a whole lease is told, and gives up', async () => {
    const a = await proxied(200);
    const told: string[] = [];
    a.client.onLost((_, reason) => told.push(reason));
    const grant = await take(a, lock, owner('a'), 1000);
    a.proxy.cut('both');
    expect(await a.client.renew(lock, grant, 1000)).toMatchObject({ outcome: 'unknown' });
    expect(told).toEqual([]);
    await until('the holder is told', () => told.length > 0);
    expect(told).toEqual(['no answer from the service for 1000 ms']);
    expect(process.hrtime.bigint()).toBeGreaterThan(grant.validUntilNs);
    a.proxy.heal();
    expect(await a.client.renew(lock, grant, 1000)).toMatchObject({ code: 'not-owner' });
  });

  test('a lost renewal costs the connection, not the session', async () => {
    const { client: one, proxy } = await proxied(1000);
    const grant = await take({ client: one }, lock, owner('a'), 6000);
    const lost = proxy.arm({ what: 'reply', action: 'renew', nth: 1 });
    expect(await one.renew(lock, grant, 6000)).toMatchObject({ outcome: 'unknown' });
    expect(await lost.hit).toBeDefined();
    expect(await one.renew(lock, grant, 6000)).toMatchObject({ outcome: 'ok' });
    expect(await observer.state(lock)).toMatchObject({ owner: grant.owner, fence: grant.fence });
  });

  test('a session that its client ends before its time is told apart from one that ran out', async () => {
    const [other, name] = [await stranger(), owner('a')];
    const [top = ''] = lock.split('/');
    await other.create(`/${top}`, Buffer.alloc(0), 'persistent');
    await other.create(`/${lock}`, Buffer.alloc(0), 'persistent');
    const prefix = `/${lock}/${namePrefix(name)}`;
    await other.create(prefix, Buffer.from(name), 'ephemeral-sequential');
    expect(await observer.state(lock)).toMatchObject({ kind: 'held', owner: name });
    await other.closeSession();
    expect(await observer.end(lock, name)).toMatchObject({ cause: 'session-ended' });
  });

  test('the observer counts the contenders that came and went between two looks', async () => {
    const [a, other] = [await client(), await stranger()];
    const grant = await take(a, lock, owner('a'));
    await observer.state(lock);
    const name = owner('b');
    const path = `/${lock}/${namePrefix(name)}0000000009`;
    // Both leave at once: the node is gone before anybody told of it can look.
    await Promise.all([other.create(path, Buffer.from(name), 'persistent'), other.remove(path, 0)]);
    const end = await observer.end(lock, name);
    expect(end).toMatchObject({ cause: 'unknown' });
    expect(end.witness).toContain('1 contenders came and went between two looks');
    await a.client.release(lock, grant);
  });
});
