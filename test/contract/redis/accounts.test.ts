/** What accounts with few rights see, and what each way of being turned away is called. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseText } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { collect, everyLock, forever } from '../backend/subject.ts';
import { openTarget, rawRedis } from './redis-seeder.ts';

const lab = useLab({ system: 'redis' });
const secured = useLab({ system: 'redis', options: { requirepass: 'right' } });
let raw: Redis;

beforeAll(async () => {
  raw = rawRedis(lab.target);
  const accounts = {
    reader: ['~*', '&*', '+@read'],
    scripter: ['~*', '&*', '+@read', '+eval'],
    tenant: ['~app:*', '&*', '+@all'],
    blind: ['~*', '&*', '+ping'],
    nodelete: ['~*', '&*', '+@all', '-del'],
    nocounter: [
      '%RW~fencepost:{orders}:lock',
      '%RW~fencepost:{orders}:history',
      '%R~*',
      '&*',
      '+@all',
    ],
    nopublish: ['~*', 'resetchannels', '+@all'],
  };
  for (const [name, rules] of Object.entries(accounts)) {
    await raw.call('ACL', 'SETUSER', name, 'reset', 'on', '>pw', ...rules);
  }
  await raw.set('app:lock:1', 'owner-of-one-3f9c2a77', 'PX', 600_000);
  await raw.set('other:lock:2', 'owner-of-two-8b1d6e05', 'PX', 600_000);
  await raw.hset('app:hash', '6e1c2d34-0a1b-4c5d-8e9f-a0b1c2d3e4f5:51', '1');
});
afterAll(async () => {
  await raw.quit();
});

const securedPort = (): number => secured.lab.servers[0]?.port ?? 0;
const as = (account: string): string => lab.target.replace('redis://', `redis://${account}:pw@`);

async function list(url: string) {
  const backend = await openTarget(url);
  try {
    const listing = backend.list(everyLock, forever);
    const rows = await collect(listing.locks);
    return { names: rows.map((row) => String(row.ref.name)).sort(), tally: listing.tally };
  } finally {
    await backend.close();
  }
}

async function failure(url: string): Promise<unknown> {
  const backend = await openTarget(url);
  try {
    return await collect(backend.list(everyLock, forever).locks).then(
      () => 'no failure',
      (error: unknown) => error,
    );
  } finally {
    await backend.close();
  }
}

describe('reading', () => {
  const everything = ['app:hash', 'app:lock:1', 'other:lock:2'];

  test.each(['reader', 'scripter'])(
    'the account %s lists every lock, scripts or not',
    async (name) => {
      const { names, tally } = await list(as(name));
      expect(names).toEqual(everything);
      expect(tally).toMatchObject({ read: 3, hidden: 0 });
    },
  );

  test('keys outside the account’s pattern are counted as hidden and stop nothing', async () => {
    const { names, tally } = await list(as('tenant'));
    expect(names).toEqual(['app:hash', 'app:lock:1']);
    expect(tally).toMatchObject({ read: 2, hidden: 1 });
  });

  test('a hidden lock is refused, not called gone', async () => {
    const backend = await openTarget(as('tenant'));
    await expect(
      backend.inspect({ name: parseText('other:lock:2') }, forever),
    ).rejects.toMatchObject({ code: 'permission-denied', exitCode: 4 });
    await backend.close();
  });

  test('evidence that was refused is unknown, and names the missing right', async () => {
    const backend = await openTarget(as('reader'));
    const lock = await backend.inspect({ name: parseText('app:lock:1') }, forever);
    expect(lock?.evidence.find((one) => one.name === 'owner-connection')?.finding).toEqual({
      kind: 'unknown',
      reason: 'this account may not list the clients',
      remedy: 'needs +client|list',
    });
    const probe = await backend.probe(forever);
    expect(probe.version).toMatchObject({ kind: 'known' });
    expect(probe.clusterId).toMatchObject({ kind: 'unknown', remedy: 'needs +info' });
    expect(probe.capabilities.release).toMatchObject({ can: false, remedy: 'needs +eval' });
    await backend.close();
  });
});

describe('being turned away', () => {
  test('an account that may not read is told which right it lacks', async () => {
    expect(await failure(as('blind'))).toMatchObject({
      code: 'permission-denied',
      message: expect.stringMatching(/"blind" may not run scan/i) as unknown,
      hint: 'needs +scan',
      exitCode: 4,
    });
  });

  test('a wrong password and a missing one have two sentences, without the password', async () => {
    const wrong = await failure(`redis://:wrong@127.0.0.1:${securedPort()}`);
    expect(wrong).toMatchObject({ code: 'wrong-password', exitCode: 4 });
    const missing = await failure(`redis://127.0.0.1:${securedPort()}`);
    expect(missing).toMatchObject({ code: 'password-needed', exitCode: 4 });
    const { inspect } = await import('node:util');
    expect(inspect(wrong, { depth: 9 })).not.toContain('wrong@');
    expect(inspect(wrong, { depth: 9 })).not.toContain("'wrong'");
  });

  test('a password for a server that wants none does no harm', async () => {
    expect((await list(lab.target.replace('redis://', 'redis://:needless@'))).names).toHaveLength(
      3,
    );
  });

  test('a database that does not exist is not read as database 0', async () => {
    expect(await failure(`${lab.target}/99`)).toMatchObject({ code: 'no-such-database' });
    await expect(openTarget(`${lab.target}/orders`)).rejects.toMatchObject({ code: 'bad-target' });
    expect(await failure(`${as('reader')}/3`)).toMatchObject({ code: 'permission-denied' });
  });

  test('TLS to a clear-text port, and a port of something else, are told apart', async () => {
    const tls = await failure(lab.target.replace('redis://', 'rediss://'));
    expect(tls).toMatchObject({ exitCode: 4, hint: expect.stringContaining('TLS') as unknown });
    const http = createServer((_, reply) => reply.end('hello'));
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const { port } = http.address() as AddressInfo;
    expect(await failure(`redis://127.0.0.1:${port}`)).toMatchObject({ code: 'not-redis' });
    http.close();
  });
});

describe('releasing with few rights', () => {
  test('an account that may not delete is refused and names the command', async () => {
    const backend = await openTarget(as('nodelete'));
    const seen = await backend.inspect({ name: parseText('app:lock:1') }, forever);
    if (seen === undefined) throw new Error('not there');
    expect(await backend.release(seen, { timeoutMs: 5_000 }, forever)).toMatchObject({
      outcome: 'refused',
      reason: expect.stringContaining('DEL') as unknown,
      fenceRaisedTo: undefined,
    });
    expect(await raw.exists('app:lock:1')).toBe(1);
    await backend.close();
  });

  test('a fence counter out of reach leaves the lock and the counter as they are', async () => {
    const lock = 'fencepost:{orders}:lock';
    await raw.hset(lock, { owner: 'a', fence: '7', grantedAt: '1', leaseMs: '60000' });
    await raw.pexpire(lock, 60_000);
    await raw.set('fencepost:{orders}:fence', '7');
    const backend = await openTarget(as('nocounter'));
    const seen = await backend.inspect({ name: parseText('orders') }, forever);
    if (seen === undefined) throw new Error('not there');
    expect((await backend.release(seen, { timeoutMs: 5_000 }, forever)).outcome).toBe('refused');
    expect(await raw.exists(lock)).toBe(1);
    expect(await raw.get('fencepost:{orders}:fence')).toBe('7');
    await backend.close();
  });

  test('where publishing is refused the lock is released, and nobody is said to be woken', async () => {
    const backend = await openTarget(as('nopublish'));
    const seen = await backend.inspect({ name: parseText('app:hash') }, forever);
    if (seen === undefined) throw new Error('not there');
    expect(await backend.release(seen, { timeoutMs: 5_000 }, forever)).toMatchObject({
      outcome: 'released',
      woken: { kind: 'unknown' },
    });
    await backend.close();
  });
});
