/** The protocols that wait for a replica: their contract, and what they do when none confirms. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openServiceProxies } from '../../src/chaos/open-proxy.ts';
import type { WorkerProxy } from '../../src/chaos/proxy.ts';
import { parseTarget } from '../../src/domain/target.ts';
import { stringToText } from '../../src/domain/text.ts';
import type { LockClient, LockObserver } from '../../src/protocols/protocol.ts';
import { openProtocol } from '../../src/protocols/registry.ts';
import { useLab } from '../helpers/servers.ts';
import { describeProtocol } from './protocol.contract.ts';

const lab = useLab({ system: 'redis', members: 3 });
const shared = { lab, leaseMs: 400, silenceIsSeenAs: 'expired', endsWithinMs: 450 } as const;

describeProtocol({
  ...shared,
  id: 'redis-wait-fenced',
  repeatedAcquire: 'same-grant',
  releaseIsSeenAs: 'released',
});

describeProtocol({
  ...shared,
  id: 'redis-wait',
  repeatedAcquire: 'busy',
  releaseIsSeenAs: 'removed-early',
});

describe.each(['redis-wait-fenced', 'redis-wait'])('protocol %s without its replicas', (id) => {
  const lock = `fp-test-${id}/expire-order`;
  const request = { lock, owner: stringToText('a'), leaseMs: 30_000, waitMs: 0 };
  let client: LockClient;
  let observer: LockObserver;
  let proxies: readonly WorkerProxy[];

  const signalReplicas = (name: 'SIGSTOP' | 'SIGCONT') => {
    const replicas = lab.lab.servers.filter((server) => server.name.startsWith('replica'));
    for (const { pid } of replicas) process.kill(pid, name);
  };

  beforeEach(async () => {
    const target = parseTarget(lab.target);
    const protocol = await openProtocol(id, target.kind);
    const opened = await openServiceProxies('A', target, protocol.wire, 0n);
    proxies = opened.proxies;
    const context = { requestTimeoutMs: 1000, clientName: 'fencepost-test', mutation: undefined };
    client = await protocol.connect({ ...context, target: parseTarget(opened.url) });
    observer = await protocol.observe({ ...context, target });
  });
  afterEach(async () => {
    signalReplicas('SIGCONT');
    await observer.cleanUp('fp-test-');
    await observer.close();
    await client.close();
    await Promise.all(proxies.map((proxy) => proxy.close()));
  });

  test('an acquire that no replica confirms fails, and leaves no lock', async () => {
    signalReplicas('SIGSTOP');
    const reply = await client.acquire(request);
    expect(reply).toMatchObject({
      outcome: 'fail',
      code: 'too-few-replicas',
      detail: '0 of 1 replicas confirmed within 500 ms; released',
    });
    expect(await observer.state(lock)).toEqual({ kind: 'absent' });
    signalReplicas('SIGCONT');
    expect(await client.acquire(request)).toMatchObject({ outcome: 'ok' });
  });

  test('a renewal that no replica confirms is unknown: it counts on no longer lease', async () => {
    const taken = await client.acquire(request);
    if (taken.outcome !== 'ok') throw new Error(`acquire: ${JSON.stringify(taken)}`);
    expect(await client.renew(lock, taken.grant, 60_000)).toMatchObject({ outcome: 'ok' });
    signalReplicas('SIGSTOP');
    expect(await client.renew(lock, taken.grant, 90_000)).toMatchObject({
      outcome: 'unknown',
      code: 'too-few-replicas-renewed',
    });
    expect(await observer.state(lock)).toMatchObject({ kind: 'held', owner: taken.grant.owner });
  });

  test('it is unknown when the reply to that release is lost', async () => {
    signalReplicas('SIGSTOP');
    const lost = proxies[0]?.arm({ what: 'reply', action: 'release', nth: 1 });
    expect(await client.acquire(request)).toMatchObject({
      outcome: 'unknown',
      code: 'too-few-replicas-release-unknown',
    });
    expect(await lost?.hit).toBeDefined();
  });

  test('a grant found again on another connection needs its confirmation as well', async () => {
    expect(await client.acquire(request)).toMatchObject({ outcome: 'ok' });
    proxies[0]?.cut('to-worker');
    expect(await client.confirm(request)).toMatchObject({ outcome: 'unknown' });
    proxies[0]?.heal();
    expect(await client.confirm(request)).toMatchObject({ outcome: 'ok' });
    signalReplicas('SIGSTOP');
    const reply = await client.confirm(request);
    expect(reply).toMatchObject({ outcome: 'fail', code: 'too-few-replicas' });
    expect(await observer.state(lock)).toEqual({ kind: 'absent' });
  });
});
