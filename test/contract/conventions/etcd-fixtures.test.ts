/**
 * What real libraries write to etcd, seeded step by step on a real server and read through the
 * adapter: every expectation of the fixture, in full and in a listing.
 */
import type { Etcd3 } from 'etcd3';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Backend } from '../../../src/backends/backend.ts';
import type { LockDetail } from '../../../src/domain/lock.ts';
import { parseText } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { collect, everyLock, forever } from '../backend/subject.ts';
import { grantLease, hex, openTarget, rawEtcd } from '../etcd/etcd-seeder.ts';
import { checkExpectation, readFixtures, type Fixture } from './fixture.ts';

const stepSchema = z.array(z.string()).min(1);
const fixtures = readFixtures('etcd', stepSchema);

const lab = useLab({ system: 'etcd' });
let raw: Etcd3;
let backend: Backend;

beforeAll(async () => {
  raw = rawEtcd(lab.target);
  backend = await openTarget(lab.target);
});
beforeEach(async () => {
  await raw.delete().all();
  const { leases } = await raw.leaseClient.leaseLeases();
  for (const { ID } of leases) await raw.leaseClient.leaseRevoke({ ID });
});
afterAll(async () => {
  await backend.close();
  raw.close();
});

async function run([verb, first = '', second = '', , lease]: readonly string[]): Promise<void> {
  const decimal = (id: string): string => BigInt(`0x${id}`).toString();
  if (verb === 'LEASE_GRANT') {
    await grantLease(raw, Number(second), decimal(first));
    return;
  }
  const value = Buffer.from(second, verb === 'PUT_HEX' ? 'hex' : 'utf8');
  await raw.kv.put({
    key: Buffer.from(first),
    value,
    ...(lease === undefined ? {} : { lease: decimal(lease) }),
  });
}

async function put(key: string, value: string, lease?: string): Promise<void> {
  await raw.kv.put({
    key: Buffer.from(key),
    value: Buffer.from(value),
    ...(lease === undefined ? {} : { lease }),
  });
}

async function seed(setup: readonly (readonly string[])[]): Promise<void> {
  for (const step of setup) await run(step);
}

async function look(name: string): Promise<LockDetail> {
  const lock = await backend.inspect({ name: parseText(name) }, forever);
  if (lock === undefined) throw new Error(`${name} is not there`);
  return lock;
}

/** The revision that the server gave to the key that the fixture names. */
async function fenceOf({ fence_source: source }: Fixture<unknown>): Promise<bigint> {
  const key = /^create_revision\((.+)\)$/.exec(source ?? '')?.[1] ?? '';
  const [found] = (await raw.kv.range({ key: Buffer.from(key) })).kvs;
  return BigInt(found?.create_revision ?? 0);
}

describe.each(fixtures)('%s', (_, fixture) => {
  test('is read as its library means it, with the fence that the server gave', async () => {
    await seed(fixture.setup);
    const lock = await look(fixture.expect.name);
    checkExpectation(lock, fixture.expect);
    const { convention, candidates, released } = fixture.recognised;
    expect(lock.recognition).toMatchObject({ convention, candidates, forced: false });
    expect(lock.fence).toMatchObject({ kind: 'token', token: await fenceOf(fixture) });
    expect(backend.preview(lock, {}).possible.can).toBe(released);
  });

  test('is the only row of a listing', async () => {
    await seed(fixture.setup);
    const rows = await collect(backend.list({ ...everyLock, all: true }, forever).locks);
    const [row] = rows;
    expect(rows).toHaveLength(1);
    if (row !== undefined) checkExpectation(row, fixture.expect);
  });
});

test('a name and the same name with a slash at its end are two locks, and it is said', async () => {
  const lease = await grantLease(raw, 60);
  for (const name of ['jobs', 'jobs/']) {
    await put(`${name}/${hex(lease)}`, '', lease);
  }
  const rows = await collect(backend.list(everyLock, forever).locks);
  expect(rows.map(({ ref }) => String(ref.name)).sort()).toEqual(['jobs', 'jobs/']);
  const codes = (lock: LockDetail): readonly string[] => lock.notes.map(({ code }) => code);
  expect(codes(await look('jobs/'))).toContain('trailing-slash');
  expect(codes(await look('jobs'))).not.toContain('trailing-slash');
});

test('an election is owned by its proposal, and proclaiming another moves no fence', async () => {
  const lease = await grantLease(raw, 60);
  const key = `election/x/${hex(lease)}`;
  await put(key, 'candidate-1', lease);
  const before = await look('election/x');
  await put(key, 'candidate-2', lease);
  const after = await look('election/x');
  expect(after).toMatchObject({
    recognition: { convention: 'etcd-election' },
    holders: { value: [{ owner: 'candidate-2' }] },
    fence: before.fence,
  });
  expect(after.notes.map(({ code }) => code)).toEqual(['owner-not-unique']);
});

test('what a Patroni leader writes of its position is no leader key', async () => {
  await put('/service/pg-main/optime/leader', '67110256');
  const rows = await collect(backend.list(everyLock, forever).locks);
  expect(rows.map(({ recognition }) => recognition.convention)).toEqual(['plain']);
});
