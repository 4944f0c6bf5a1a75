/**
 * What goes over the wire when a reply is lost. etcd3 by itself sends a transaction whose connection
 * broke twice more, and then refuses unrelated calls; ours is sent once, and its outcome comes from a
 * read or is unknown.
 */
import { Etcd3 } from 'etcd3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Backend } from '../../../src/backends/backend.ts';
import type { LockDetail } from '../../../src/domain/lock.ts';
import { parseTarget } from '../../../src/domain/target.ts';
import { parseText, stringToText, type Text } from '../../../src/domain/text.ts';
import type { AcquireRequest, LockClient } from '../../../src/protocols/protocol.ts';
import { openProtocol } from '../../../src/protocols/registry.ts';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';
import { forever } from '../backend/subject.ts';
import { countingRelay, type CountingRelay } from './etcd-relay.ts';
import { bytes, enter, openTarget, rawEtcd, valueAt } from './etcd-seeder.ts';

const lab = useLab({ system: 'etcd' });
let raw: Etcd3;
let relay: CountingRelay;
let count = 0;
let name: Text;

beforeAll(() => {
  raw = rawEtcd(lab.target);
});
beforeEach(async () => {
  count += 1;
  name = parseText(`/jobs/lock-${count}`);
  relay = await countingRelay(lab.target);
});
afterEach(() => relay.close());
afterAll(() => {
  raw.close();
});

const kinds = ['swallowed', 'lost with its connection'] as const;

/** The reply of the next such transaction is taken away after the server has carried it out. */
function lose(kind: (typeof kinds)[number], action: 'acquire' | 'release'): void {
  if (kind === 'swallowed') relay.proxy.arm({ what: 'reply', action, nth: 1 });
  else relay.beforeEach('Txn', breakAfterReply);
}

/** The connection breaks once the server has answered. */
async function breakAfterReply(): Promise<void> {
  const dropped = (): number => relay.proxy.counters('to-worker').framesDropped;
  const before = dropped();
  relay.proxy.cut('to-worker');
  await until('the reply is dropped', () => dropped() > before);
  relay.proxy.heal();
}

describe('etcd3 with its defaults, as the red example', () => {
  test('it sends a transaction again when the connection broke, and its breaker then refuses all', async () => {
    const client = new Etcd3({ hosts: relay.url.replace('etcd://', 'http://') });
    try {
      const { key } = await enter(raw, name, 'a', 300);
      lose('lost with its connection', 'release');
      const commit = client.if(key, 'Value', '==', 'a').then(client.delete().key(key)).commit();
      await expect(commit).rejects.toThrow();
      expect(relay.count('Txn')).toBe(3);
      await expect(client.get('unrelated').exec()).rejects.toThrow(/circuit/i);
      expect(relay.count('Range')).toBe(0);
    } finally {
      client.close();
    }
  });
});

describe('the release of the adapter', () => {
  let backend: Backend;
  beforeEach(async () => {
    backend = await openTarget(relay.url);
  });
  afterEach(() => backend.close());

  async function look(): Promise<LockDetail> {
    const seen = await backend.inspect({ name }, forever);
    if (seen === undefined) throw new Error('the lock is not there');
    return seen;
  }

  test.each(kinds)(
    'is sent once when its reply is %s, and is unknown though the key is gone',
    async (kind) => {
      const { key } = await enter(raw, name, 'a', 300);
      const seen = await look();
      lose(kind, 'release');
      const result = await backend.release(seen, { timeoutMs: 800 }, forever);
      expect(result).toMatchObject({
        outcome: 'unknown',
        reason: 'the reply was lost; the key is gone, by this release or by itself',
      });
      expect(relay.count('Txn')).toBe(1);
      expect(await valueAt(raw, key)).toBeUndefined();
    },
  );

  test.each(kinds)(
    'as a hold is sent once when its reply is %s, and a read proves that it was done',
    async (kind) => {
      const { key } = await enter(raw, name, 'a', 300);
      const seen = await look();
      lose(kind, 'acquire');
      const hold = { owner: stringToText('operator'), ttlMs: 30_000 };
      const result = await backend.release(seen, { timeoutMs: 800, hold }, forever);
      expect(result).toMatchObject({
        outcome: 'released',
        reply: expect.stringContaining('seen after the reply was lost') as unknown,
      });
      expect(relay.count('Txn')).toBe(1);
      expect(await valueAt(raw, key)).toBe('operator');
    },
  );

  test('a request that never arrived is unknown too, and the key is still there', async () => {
    const { key } = await enter(raw, name, 'a', 300);
    const seen = await look();
    relay.proxy.arm({ what: 'request', action: 'release', nth: 1 });
    expect(await backend.release(seen, { timeoutMs: 800 }, forever)).toMatchObject({
      outcome: 'unknown',
      reason: expect.stringContaining('still there, but the request may be on its way') as unknown,
    });
    expect(relay.count('Txn')).toBe(1);
    expect(await valueAt(raw, key)).toBe('a');
  });

  test('the adapter goes on after a lost connection, with no breaker in its way', async () => {
    await enter(raw, name, 'a', 300);
    const seen = await look();
    lose('lost with its connection', 'release');
    await backend.release(seen, { timeoutMs: 800 }, forever);
    const next = await enter(raw, name, 'b', 300);
    expect((await look()).facts).toMatchObject({ key: next.key });
  });
});

describe.each(['etcd-lease', 'etcd-single-key'])('the lock client %s', (id) => {
  let client: LockClient;
  beforeEach(async () => {
    const protocol = await openProtocol(id, 'etcd');
    client = await protocol.connect({
      target: parseTarget(relay.url),
      requestTimeoutMs: 800,
      clientName: 'fencepost-test',
      mutation: undefined,
    });
  });
  afterEach(() => client.close());

  const request = (): AcquireRequest => ({
    lock: String(name),
    owner: stringToText(`owner-${count}`),
    leaseMs: 30_000,
    waitMs: 0,
  });

  test.each(kinds)('sends an acquire once when its reply is %s, and confirms it', async (kind) => {
    lose(kind, 'acquire');
    expect(await client.acquire(request())).toMatchObject({ outcome: 'unknown' });
    expect(relay.count('Txn')).toBe(1);
    relay.stop();
    expect(await client.confirm(request())).toMatchObject({ outcome: 'ok' });
  });

  test.each(kinds)('sends a release once when its reply is %s', async (kind) => {
    const taken = await client.acquire(request());
    if (taken.outcome !== 'ok') throw new Error(`acquire: ${taken.code}`);
    const before = relay.count('Txn');
    lose(kind, 'release');
    expect(await client.release(request().lock, taken.grant)).toMatchObject({ outcome: 'unknown' });
    expect(relay.count('Txn') - before).toBe(1);
    expect((await raw.kv.range({ key: bytes(parseText(taken.grant.record)) })).kvs).toEqual([]);
  });
});
