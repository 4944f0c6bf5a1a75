/** Accounts that may read a part, and sessions whose token runs out under a long watch. */
import type { Etcd3 } from 'etcd3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EtcdLink } from '../../../src/clients/etcd/link.ts';
import { openWatch } from '../../../src/clients/etcd/watch.ts';
import { parseTarget } from '../../../src/domain/target.ts';
import { parseText, stringToText } from '../../../src/domain/text.ts';
import { openProtocol } from '../../../src/protocols/registry.ts';
import { useLab } from '../../helpers/servers.ts';
import { collect, elapsed, forever } from '../backend/subject.ts';
import { countingRelay } from './etcd-relay.ts';
import { addUser, bytes, enableUsers, enter, openTarget, rawEtcd, valueAt } from './etcd-seeder.ts';

/** Tokens live for one second after their last use. */
const tokenTtlMs = 1_000;
const lab = useLab({ system: 'etcd', options: { 'auth-token-ttl': '1' } });
const as = (user: string): string => lab.target.replace('etcd://', `etcd://${user}:pw@`);
const options = { connectTimeoutMs: 1_500, requestTimeoutMs: 5_000 };
let raw: Etcd3;

beforeAll(async () => {
  const plain = rawEtcd(lab.target);
  const whole = (name: string, from: string, end: string): Promise<void> =>
    addUser(
      plain,
      { name, password: 'pw' },
      { permType: 'Readwrite', key: Buffer.from(from), range_end: Buffer.from(end) },
    );
  await whole('locks', '/locks/', '/locks0');
  await whole('onequeue', '/locks/build/', '/locks/build0');
  await whole('onekey', '/locks/single', '');
  await enableUsers(plain, 'pw');
  plain.close();
  raw = rawEtcd(as('root'));
});
afterAll(() => {
  raw.close();
});

describe('an account that may read a part of a lock', () => {
  test.each([
    ['onequeue', '/locks/build', 'the key /locks/build itself'],
    ['onekey', '/locks/single', 'what is under /locks/single/'],
  ])('as %s, it sees %s and is told that %s is hidden', async (user, name, hidden) => {
    await enter(raw, parseText('/locks/build'), 'a', 300);
    await raw.kv.put({ key: Buffer.from('/locks/single'), value: Buffer.from('s') });
    const backend = await openTarget(as(user));
    try {
      const lock = await backend.inspect({ name: parseText(name) }, forever);
      expect(lock?.notes).toContainEqual({
        code: 'part-unreadable',
        severity: 'info',
        text: `this account may not read ${hidden}: a lock laid out there would not be seen`,
      });
    } finally {
      await backend.close();
    }
  });

  test('ending a session is unknown, not done, where not all that fell could be watched', async () => {
    const held = await enter(raw, parseText('/locks/partly'), 'a', 300);
    const backend = await openTarget(as('locks'));
    try {
      const seen = await backend.inspect({ name: parseText('/locks/partly') }, forever);
      if (seen === undefined) throw new Error('the lock is not there');
      const how = { timeoutMs: 5_000, endSession: true };
      expect(await backend.release(seen, how, forever)).toMatchObject({
        outcome: 'unknown',
        reason: 'the lock was released, but only keys under /locks/partly/ could be watched',
        session: { ended: { kind: 'known', value: true } },
      });
      expect(await valueAt(raw, held.key)).toBeUndefined();
    } finally {
      await backend.close();
    }
  });
});

describe('a token that runs out', () => {
  /** Longer than a token lives: its owner is looked for once a second. */
  const untilOver = (): Promise<void> => elapsed(tokenTtlMs + 2_000);

  test('under a watch does not end it', async () => {
    const link = new EtcdLink(parseTarget(as('locks')), options);
    try {
      const watched = { from: Buffer.from('/locks/w'), end: undefined, previous: false };
      const watch = await openWatch(link, { ...watched, startRevision: 0n }, forever);
      expect(await watch.next(5_000)).toMatchObject({ kind: 'created' });
      await untilOver();
      await raw.kv.put({ key: Buffer.from('/locks/w'), value: Buffer.from('x') });
      expect(await watch.next(5_000)).toMatchObject({ kind: 'events', events: [{ type: 'Put' }] });
      watch.close();
    } finally {
      link.close();
    }
  });

  test('between two looks is renewed without a word', async () => {
    const held = await enter(raw, parseText('/locks/long'), 'a', 300);
    const relay = await countingRelay(as('locks'));
    const backend = await openTarget(relay.url);
    try {
      const ref = { name: parseText('/locks/long') };
      const seen = await backend.inspect(ref, forever);
      if (seen === undefined) throw new Error('the lock is not there');
      await untilOver();
      expect(await collect(backend.history(ref, forever).records)).toHaveLength(1);
      await untilOver();
      const result = await backend.release(seen, { timeoutMs: 5_000 }, forever);
      expect(result.outcome).toBe('released');
      expect(await valueAt(raw, held.key)).toBeUndefined();
      expect(relay.count('Authenticate')).toBe(3);
    } finally {
      await backend.close();
      await relay.close();
    }
  });

  test.each(['renews', 'releases'])('leaves a lock client its lock: it still %s', async (act) => {
    const protocol = await openProtocol('etcd-lease', 'etcd');
    const client = await protocol.connect({
      target: parseTarget(as('locks')),
      requestTimeoutMs: 2_000,
      clientName: 'fencepost-test',
      mutation: undefined,
    });
    const lock = `/locks/client-${act}`;
    try {
      const lost = new Promise<string>((resolve) => {
        client.onLost(resolve);
      });
      const request = { lock, owner: stringToText('owner-1'), leaseMs: 30_000, waitMs: 0 };
      const taken = await client.acquire(request);
      if (taken.outcome !== 'ok') throw new Error(`acquire: ${taken.code}`);
      await untilOver();
      if (act === 'releases') {
        expect(await client.release(lock, taken.grant)).toMatchObject({ outcome: 'ok' });
        return;
      }
      expect(await client.renew(lock, taken.grant, 30_000)).toMatchObject({ outcome: 'ok' });
      await raw.kv.deleteRange({ key: bytes(parseText(taken.grant.record)) });
      expect(await lost).toBe(lock);
    } finally {
      await client.close();
    }
  });
});
