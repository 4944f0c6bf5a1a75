/** Releases on etcd beyond the contract: races, holds, immortal keys, sessions, fence floors. */
import type { Etcd3 } from 'etcd3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Backend } from '../../../src/backends/backend.ts';
import { valueOf } from '../../../src/domain/known.ts';
import type { LockDetail } from '../../../src/domain/lock.ts';
import type { ReleaseOptions, ReleaseResult } from '../../../src/domain/release.ts';
import { parseText, stringToText, type Text } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { forever } from '../backend/subject.ts';
import { countingRelay, type CountingRelay } from './etcd-relay.ts';
import {
  bytes,
  enter,
  grantLease,
  hex,
  openTarget,
  rawEtcd,
  valueAt,
  type EtcdGrant,
} from './etcd-seeder.ts';

const lab = useLab({ system: 'etcd' });
const how = { timeoutMs: 5_000 };
let raw: Etcd3;
let relay: CountingRelay;
let backend: Backend;
let count = 0;
let name: Text;

beforeAll(() => {
  raw = rawEtcd(lab.target);
});
beforeEach(async () => {
  count += 1;
  name = parseText(`/jobs/lock-${count}`);
  relay = await countingRelay(lab.target);
  backend = await openTarget(relay.url);
});
afterEach(async () => {
  await backend.close();
  await relay.close();
});
afterAll(() => {
  raw.close();
});

async function look(lock = name): Promise<LockDetail> {
  const seen = await backend.inspect({ name: lock }, forever);
  if (seen === undefined) throw new Error(`${lock} is not there`);
  return seen;
}

function release(seen: LockDetail, more: Partial<ReleaseOptions> = {}): Promise<ReleaseResult> {
  return backend.release(seen, { ...how, ...more }, forever);
}

function createdAt(lock: LockDetail): bigint {
  if (lock.fence.kind !== 'token') throw new Error('no fence');
  return lock.fence.token;
}

describe('between the last look and the transaction', () => {
  test('a lock that changes hands is not touched, and what is there is told', async () => {
    const a = await enter(raw, name, 'a', 300);
    const seen = await look();
    relay.before('Txn', () => raw.kv.put({ key: bytes(a.key), value: Buffer.from('b') }));
    expect(await release(seen)).toMatchObject({
      outcome: 'changed-hands',
      now: expect.stringMatching(/ → b, created \d+, changed \d+, no lease$/) as unknown,
    });
    expect(await valueAt(raw, a.key)).toBe('b');
    expect(relay.count('Txn')).toBe(1);
  });

  test('a lock that its owner lets go is already gone', async () => {
    const a = await enter(raw, name, 'a', 300);
    const seen = await look();
    relay.before('Txn', () => raw.kv.deleteRange({ key: bytes(a.key) }));
    expect((await release(seen)).outcome).toBe('already-gone');
  });
});

describe('a key without a lease', () => {
  test('one that a plain put detached stays for ever, and is said to', async () => {
    const a = await enter(raw, name, 'a', 300);
    await raw.kv.put({ key: bytes(a.key), value: Buffer.from('a') });
    const lock = await look();
    expect(lock).toMatchObject({ state: 'no-ttl', lease: { kind: 'never' } });
    const note = lock.notes.find(({ code }) => code === 'immortal-key');
    expect(note).toMatchObject({ severity: 'warn' });
    await raw.leaseClient.leaseRevoke({ ID: a.lease });
    expect((await look()).state).toBe('no-ttl');
  });

  test('it is released by its revisions, and there is no session that could be ended', async () => {
    const a = await enter(raw, name, 'a', 300);
    await raw.kv.put({ key: bytes(a.key), value: Buffer.from('a') });
    const lock = await look();
    expect(backend.preview(lock, { endSession: true }).possible).toMatchObject({ can: false });
    expect((await release(lock, { endSession: true })).outcome).toBe('refused');
    expect(await valueAt(raw, a.key)).toBe('a');
    expect((await release(lock)).outcome).toBe('released');
    expect(await valueAt(raw, a.key)).toBeUndefined();
  });

  test('one that was put on its lease again since it was seen is another grant', async () => {
    const a = await enter(raw, name, 'a', 300);
    await raw.kv.put({ key: bytes(a.key), value: Buffer.from('a') });
    const seen = await look();
    await raw.kv.put({ key: bytes(a.key), value: Buffer.from('a'), lease: a.lease });
    expect((await release(seen)).outcome).toBe('changed-hands');
    expect(await valueAt(raw, a.key)).toBe('a');
  });
});

describe('a hold', () => {
  const hold = { owner: stringToText('operator-4711'), ttlMs: 30_000 };

  test('keeps the queue out under the same fence until its own lease ends', async () => {
    const a = await enter(raw, name, 'a', 300);
    const c = await enter(raw, name, 'c', 300);
    const seen = await look();
    const result = await release(seen, { hold });
    expect(result).toMatchObject({ outcome: 'released' });
    const held = await look();
    expect(valueOf(held.holders)).toMatchObject([{ owner: 'operator-4711', record: a.key }]);
    expect(createdAt(held)).toBe(createdAt(seen));
    expect(held.lease).toMatchObject({ kind: 'ttl', grantedMs: { value: 30_000 } });
    const lease = held.lease.kind === 'ttl' ? (held.lease.id ?? '') : '';
    expect(lease).not.toBe(hex(a.lease));
    await raw.leaseClient.leaseRevoke({ ID: String(BigInt(`0x${lease}`)) });
    expect(valueOf((await look()).holders)).toMatchObject([{ owner: 'c', record: c.key }]);
  });

  test('that comes too late leaves nothing behind, not even its lease', async () => {
    const a = await enter(raw, name, 'a', 300);
    const seen = await look();
    const before = (await raw.leaseClient.leaseLeases()).leases.length;
    relay.before('Txn', () => raw.kv.put({ key: bytes(a.key), value: Buffer.from('b') }));
    expect((await release(seen, { hold })).outcome).toBe('changed-hands');
    expect((await raw.leaseClient.leaseLeases()).leases).toHaveLength(before);
  });
});

describe('ending the session', () => {
  const endSession = true;

  /** Puts another key on a grant's lease. */
  async function alsoOn({ lease }: EtcdGrant, key: string): Promise<void> {
    await raw.kv.put({ key: Buffer.from(key), value: Buffer.from('x'), lease });
  }

  test('what falls with it is in the plan and in the result', async () => {
    const a = await enter(raw, name, 'a', 300);
    await alsoOn(a, `/service/${count}`);
    const seen = await look();
    expect(seen.lease).toMatchObject({ shared: { value: [`/service/${count}`] } });
    expect(valueOf(backend.preview(seen, {}).alsoFalls)).toEqual([]);
    expect(valueOf(backend.preview(seen, { endSession }).alsoFalls)).toEqual([`/service/${count}`]);
    expect(await release(seen, { endSession })).toMatchObject({
      outcome: 'released',
      session: {
        ended: { kind: 'known', value: true },
        text: `lease ${hex(a.lease)} was revoked; with it fell /service/${count}`,
      },
    });
    expect(await valueAt(raw, parseText(`/service/${count}`))).toBeUndefined();
  });

  test('a lock that the owner took after the transaction is told as removed from a stranger', async () => {
    const a = await enter(raw, name, 'a', 300);
    await alsoOn(a, `/service/${count}`);
    relay.before('LeaseRevoke', () => alsoOn(a, `/newer/${count}`));
    const result = await release(await look(), { endSession });
    expect(result).toMatchObject({ outcome: 'foreign-removed', removed: [`/newer/${count}`] });
    expect(result.reply).toContain('transaction succeeded');
  });

  test.each([
    ['a release alone tells the owner nothing', false],
    ['the end of its session tells the owner', true],
  ])('%s', async (_, ends) => {
    const lease = raw.lease(60);
    const lost = new Promise<void>((resolve) => {
      lease.on('lost', () => {
        resolve();
      });
    });
    await lease.put(`${name}/${hex(await lease.grant())}`).value('a');
    const result = await release(await look(), { endSession: ends });
    expect(result.outcome).toBe('released');
    if (ends) {
      await expect(lease.keepaliveOnce()).rejects.toThrow(/lease/i);
      await lost;
    } else {
      await lease.keepaliveOnce();
      expect(lease.revoked()).toBe(false);
      await lease.revoke();
    }
  });

  test('without it, the lease and what hangs on it live on', async () => {
    const a = await enter(raw, name, 'a', 300);
    await alsoOn(a, `/service/${count}`);
    expect((await release(await look())).outcome).toBe('released');
    expect(await valueAt(raw, parseText(`/service/${count}`))).toBe('x');
  });

  test('a grant that is gone costs nobody a session', async () => {
    const a = await enter(raw, name, 'a', 300);
    await alsoOn(a, `/service/${count}`);
    const seen = await look();
    await raw.kv.deleteRange({ key: bytes(a.key) });
    expect((await release(seen, { endSession })).outcome).toBe('already-gone');
    expect(relay.count('LeaseRevoke')).toBe(0);
    expect(await valueAt(raw, parseText(`/service/${count}`))).toBe('x');
  });
});

describe('a fence floor', () => {
  let floor: Text;
  beforeEach(() => {
    floor = parseText(`/fences/lock-${count}`);
  });

  async function setFloor(value: string, lease = '0'): Promise<void> {
    await raw.kv.put({ key: bytes(floor), value: Buffer.from(value), lease });
  }

  test('is written in the same step: above the token released, and not above the next one', async () => {
    await enter(raw, name, 'a', 300);
    await enter(raw, name, 'c', 300);
    const seen = await look();
    const atLeast = createdAt(seen) + 1n;
    expect(backend.preview(seen, { fenceFloor: floor }).fenceFloor).toEqual({
      can: true,
      record: floor,
      atLeast,
    });
    const result = await release(seen, { fenceFloor: floor });
    expect(result).toMatchObject({ outcome: 'released', fenceRaisedTo: atLeast });
    expect(await valueAt(raw, floor)).toBe(String(atLeast));
    expect(createdAt(await look())).toBeGreaterThanOrEqual(atLeast);
    expect(relay.count('Txn')).toBe(1);
  });

  test('never goes down', async () => {
    await setFloor('999999999999');
    await enter(raw, name, 'a', 300);
    const result = await release(await look(), { fenceFloor: floor });
    expect(result).toMatchObject({ outcome: 'released', fenceRaisedTo: undefined });
    expect(result.reply).toContain(`floor ${floor} is 999999999999 already`);
    expect(await valueAt(raw, floor)).toBe('999999999999');
  });

  test('stays as it is when the lock changed hands', async () => {
    await setFloor('1');
    const a = await enter(raw, name, 'a', 300);
    const seen = await look();
    relay.before('Txn', () => raw.kv.put({ key: bytes(a.key), value: Buffer.from('b') }));
    const result = await release(seen, { fenceFloor: floor });
    expect(result).toMatchObject({ outcome: 'changed-hands', fenceRaisedTo: undefined });
    expect(await valueAt(raw, floor)).toBe('1');
  });

  test('that somebody writes meanwhile makes the whole step do nothing', async () => {
    const a = await enter(raw, name, 'a', 300);
    relay.before('Txn', () => setFloor('7'));
    const result = await release(await look(), { fenceFloor: floor });
    expect(result).toMatchObject({
      outcome: 'refused',
      reason: expect.stringContaining('written by somebody else') as unknown,
    });
    expect(await valueAt(raw, a.key)).toBe('a');
    expect(await valueAt(raw, floor)).toBe('7');
  });

  test('goes with a hold, too', async () => {
    await enter(raw, name, 'a', 300);
    const hold = { owner: stringToText('operator-1'), ttlMs: 30_000 };
    const seen = await look();
    const result = await release(seen, { hold, fenceFloor: floor });
    expect(result).toMatchObject({ outcome: 'released', fenceRaisedTo: createdAt(seen) + 1n });
    expect(await valueAt(raw, floor)).toBe(String(createdAt(seen) + 1n));
  });

  test('never overwrites what is no number, or what a lease would take away', async () => {
    const a = await enter(raw, name, 'a', 300);
    const seen = await look();
    for (const [value, lease, reason] of [
      ['{"price":3}', '0', 'is no number'],
      ['5', await grantLease(raw, 300), 'hangs on a lease'],
    ] as const) {
      await setFloor(value, lease);
      expect(await release(seen, { fenceFloor: floor })).toMatchObject({
        outcome: 'refused',
        reason: expect.stringContaining(reason) as unknown,
      });
      expect(await valueAt(raw, floor)).toBe(value);
    }
    expect(await valueAt(raw, a.key)).toBe('a');
  });

  test('is refused under the lock itself and under any other queue', async () => {
    const a = await enter(raw, name, 'a', 300);
    const seen = await look();
    for (const key of [name, `${name}/floor`, a.key, '/other/694d7a1b2c3d4e01']) {
      const fenceFloor = parseText(key);
      expect(backend.preview(seen, { fenceFloor }).fenceFloor).toMatchObject({ can: false });
      expect((await release(seen, { fenceFloor })).outcome).toBe('refused');
    }
    expect(relay.count('Txn')).toBe(0);
    expect(await valueAt(raw, a.key)).toBe('a');
  });
});
