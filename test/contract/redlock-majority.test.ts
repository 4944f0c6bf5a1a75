/** What Redlock does when some of its servers are silent, slow, or have somebody else's record. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openServiceProxies } from '../../src/chaos/open-proxy.ts';
import type { WorkerProxy } from '../../src/chaos/proxy.ts';
import { parseTarget } from '../../src/domain/target.ts';
import { stringToText } from '../../src/domain/text.ts';
import type { LockClient, LockObserver } from '../../src/protocols/protocol.ts';
import { openProtocol } from '../../src/protocols/registry.ts';
import { useLab } from '../helpers/servers.ts';
import { until } from '../helpers/until.ts';
import { groupOf, type ProxyGroup } from './proxy-group.ts';
import { rawRedis } from './redis/redis-seeder.ts';

const lab = useLab({ system: 'redlock' });
const lock = 'fp-test-majority/expire-order';
const request = { lock, owner: stringToText('a'), leaseMs: 30_000, waitMs: 0 };

let client: LockClient;
let observer: LockObserver;
let proxies: readonly WorkerProxy[];

beforeEach(async () => {
  const target = parseTarget(lab.target);
  const protocol = await openProtocol('redlock-fenced', target.kind);
  const opened = await openServiceProxies('A', target, protocol.wire, 0n);
  proxies = opened.proxies;
  const context = { requestTimeoutMs: 1500, clientName: 'fencepost-test', mutation: undefined };
  client = await protocol.connect({ ...context, target: parseTarget(opened.url) });
  observer = await protocol.observe({ ...context, target });
});
afterEach(async () => {
  await observer.cleanUp('fp-test-');
  await observer.close();
  await client.close();
  await Promise.all(proxies.map((proxy) => proxy.close()));
});

/** The proxies to the servers of these numbers. */
function to(...servers: readonly number[]): ProxyGroup {
  return groupOf(proxies.filter((_, index) => servers.includes(index)));
}

async function put(owner: string, ...servers: readonly number[]): Promise<void> {
  for (const index of servers) {
    const raw = rawRedis(`redis://127.0.0.1:${lab.lab.servers[index]?.port ?? 0}`);
    await raw.set(lock, owner, 'PX', 30_000);
    raw.disconnect();
  }
}

test('two silent servers of five do not keep it from a grant and a release', async () => {
  to(3, 4).cut('both');
  const taken = await client.acquire(request);
  if (taken.outcome !== 'ok') throw new Error(taken.code);
  expect(await observer.state(lock)).toMatchObject({ kind: 'held', owner: 'a' });
  expect(await client.renew(lock, taken.grant, 30_000)).toMatchObject({ outcome: 'ok' });
  expect(await client.release(lock, taken.grant)).toMatchObject({ outcome: 'ok' });
  expect(await observer.state(lock)).toEqual({ kind: 'absent' });
});

test('three silent servers of five keep it from a grant, and what it got it gives back', async () => {
  to(2, 3, 4).cut('to-server');
  expect(await client.acquire(request)).toMatchObject({
    outcome: 'unknown',
    code: 'majority-unknown',
    detail: '2 of 5 servers granted it, 3 are needed; 3 may have it after the clean-up',
  });
  expect(await observer.state(lock)).toEqual({ kind: 'absent' });
});

test('a renewal that reaches a minority tells the holder that it lost the lock', async () => {
  const taken = await client.acquire(request);
  if (taken.outcome !== 'ok') throw new Error(taken.code);
  const told: string[] = [];
  client.onLost((_, reason) => told.push(reason));
  to(0, 1, 2).cut('to-server');
  const renewal = await client.renew(lock, taken.grant, 60_000);
  expect(renewal).toMatchObject({ outcome: 'unknown', code: 'majority-unknown' });
  expect(told).toEqual(['the renewal reached 2 of 5 servers']);
});

test('the time that the servers took is not part of the grant', async () => {
  to(0, 1, 2, 3, 4).delay('to-worker', 250);
  const reply = await client.acquire({ ...request, leaseMs: 200 });
  expect(reply).toMatchObject({ outcome: 'fail', code: 'no-validity' });
  to(0, 1, 2, 3, 4).delay('to-worker', 0);
  // One hundredth and 2 ms for clocks that run apart; a busy machine may add to what is seen here.
  await until('a validity shorter than the lease by the drift', async () => {
    const startNs = process.hrtime.bigint();
    const taken = await client.acquire({ ...request, leaseMs: 1000 });
    if (taken.outcome !== 'ok') throw new Error(taken.code);
    await client.release(request.lock, taken.grant);
    return Number(taken.grant.validUntilNs - startNs) / 1e6 < 1000 - 10 - 2 + 5;
  });
});

test('records of others are no majority for anybody, are left alone and are told', async () => {
  await put('x', 0, 1);
  await put('y', 2, 3);
  const split = { kind: 'absent', partial: 'split: x on 2, y on 2 of 5 servers' };
  expect(await observer.state(lock)).toEqual(split);
  expect(await client.acquire(request)).toMatchObject({ outcome: 'fail', code: 'busy' });
  expect(await observer.state(lock)).toEqual(split);
  await put('x', 2);
  expect(await observer.state(lock)).toMatchObject({ kind: 'held', owner: 'x' });
});

test('without the first server there is no number, so no fenced grant', async () => {
  to(0).cut('both');
  expect(await client.acquire(request)).toMatchObject({ outcome: 'fail', code: 'no-fence' });
  expect(await observer.state(lock)).toEqual({ kind: 'absent' });
});
