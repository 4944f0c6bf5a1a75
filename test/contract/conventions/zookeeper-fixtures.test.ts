/**
 * What real libraries write to ZooKeeper, created node by node on a real server and read through
 * the adapter: every expectation of the fixture, in full and in a listing.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Backend } from '../../../src/backends/backend.ts';
import type { LockDetail } from '../../../src/domain/lock.ts';
import { parseText } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { collect, everyLock, forever } from '../backend/subject.ts';
import { openTarget, RawZooKeeper } from '../zookeeper/zookeeper-seeder.ts';
import { checkExpectation, readFixtures, type Fixture } from './fixture.ts';

const nodeSchema = z.object({
  path: z.string(),
  data: z.string(),
  ephemeral: z.boolean(),
});
type Node = z.output<typeof nodeSchema>;
const fixtures = readFixtures('zookeeper', nodeSchema);

const lab = useLab({ system: 'zookeeper' });
let raw: RawZooKeeper;
let backend: Backend;

beforeAll(async () => {
  raw = await RawZooKeeper.open(lab.target);
  backend = await openTarget(lab.target);
});
beforeEach(() => raw.removeAll());
afterAll(async () => {
  await backend.close();
  await raw.close();
});

async function seed(setup: readonly Node[]): Promise<void> {
  for (const { path, data, ephemeral } of setup) {
    await raw.makePath(path.slice(0, path.lastIndexOf('/')));
    await raw.create(path, data, ephemeral ? 'ephemeral' : 'persistent');
  }
}

async function look(name: string): Promise<LockDetail> {
  const lock = await backend.inspect({ name: parseText(name) }, forever);
  if (lock === undefined) throw new Error(`${name} is not there`);
  return lock;
}

/** The creation zxid of the holder, where the layout has one. */
async function czxidOfHolder(fixture: Fixture<Node>, lock: LockDetail): Promise<bigint> {
  const record = lock.holders.kind === 'known' ? lock.holders.value[0]?.record : undefined;
  const node = fixture.setup.find(({ path }) => path.endsWith(`/${record ?? ''}`));
  return (await raw.read(node?.path ?? '/'))?.czxid ?? 0n;
}

describe.each(fixtures)('%s', (_, fixture) => {
  test('is read as its library means it, with the czxid of its holder as fence', async () => {
    await seed(fixture.setup);
    const lock = await look(fixture.expect.name);
    checkExpectation(lock, fixture.expect);
    const { convention, candidates, released } = fixture.recognised;
    expect(lock.recognition).toMatchObject({ convention, candidates, forced: false });
    if (fixture.expect.owner === null) expect(lock.fence.kind).toBe('none');
    else {
      const token = await czxidOfHolder(fixture, lock);
      expect(lock.fence).toEqual({ kind: 'token', token, source: 'czxid' });
    }
    expect(backend.preview(lock, {}).possible.can).toBe(released);
  });

  test('is the only row of a listing', async () => {
    await seed(fixture.setup);
    const rows = await collect(backend.list({ ...everyLock, all: true }, forever).locks);
    const [row] = rows;
    expect(rows.map(({ ref }) => ref.name)).toEqual([fixture.expect.name]);
    if (row !== undefined) checkExpectation(row, fixture.expect);
  });

  test('is released as its library would, unless it must not be', async () => {
    await seed(fixture.setup);
    const lock = await look(fixture.expect.name);
    const result = await backend.release(lock, { timeoutMs: 5_000 }, forever);
    const left = await backend.inspect(lock.ref, forever);
    if (!fixture.recognised.released) {
      expect(result.outcome).toBe('refused');
      expect(left?.identity).toEqual(lock.identity);
      return;
    }
    expect(result).toMatchObject({ outcome: 'released' });
    expect(left?.identity?.expect).not.toBe(lock.identity?.expect);
    // Whatever else belongs to the lock is still there.
    const gone = await Promise.all(
      fixture.setup.map(async ({ path }) => ((await raw.read(path)) === undefined ? 1 : 0)),
    );
    const deleted = gone.reduce<number>((sum, one) => sum + one, 0);
    expect(deleted).toBe(fixture.recognised.deletes);
  });
});

test('a semaphore is called by its path, its waiters queue at its gate, and the gate is no lock', async () => {
  const permit = '_c_11111111-2222-4333-8444-555555555555-lease-';
  const waiter = '_c_00000000-2222-4333-8444-555555555555-lock-';
  await seed([{ path: `/sem/leases/${permit}0000000000`, data: '10.0.0.1', ephemeral: true }]);
  await seed([{ path: `/sem/locks/${waiter}0000000003`, data: '10.0.0.2', ephemeral: true }]);
  const lock = await look('/sem');
  expect(lock).toMatchObject({
    ref: { name: '/sem' },
    mode: 'semaphore',
    holders: { value: [{ owner: '10.0.0.1' }] },
    waiters: { kind: 'exact', list: [{ owner: '10.0.0.2' }] },
  });
  const rows = await collect(backend.list(everyLock, forever).locks);
  expect(rows.map(({ ref }) => String(ref.name))).toEqual(['/sem']);
  expect(rows[0]?.waiters).toMatchObject({ kind: 'count', count: 1 });
  const named = await collect(
    backend.list({ ...everyLock, pattern: parseText('/sem') }, forever).locks,
  );
  expect(named).toHaveLength(1);
});

describe('names that several libraries write', () => {
  const ephemeral = (path: string): Node => ({ path, data: '', ephemeral: true });
  test.each([
    {
      name: '/locks/bare',
      nodes: ['lock-0000000000', 'lock-0000000001'],
      convention: 'distributed-lock-mutex',
      candidates: ['bare-lock'],
    },
    {
      name: '/locks/shared',
      nodes: ['read-0000000000', 'write-0000000001'],
      convention: 'distributed-lock-read-write',
      candidates: ['bare-read-write'],
    },
    {
      name: '/locks/recipe',
      nodes: ['n-0000000000', 'n-0000000001'],
      convention: 'sequential-nodes',
      candidates: [],
    },
  ])('$nodes.0 has all its candidates, in full and in a listing', async (of) => {
    await seed(of.nodes.map((node) => ephemeral(`${of.name}/${node}`)));
    const { name, convention, candidates } = of;
    const [holder, waiter] = of.nodes;
    const lock = await look(name);
    expect(lock).toMatchObject({
      recognition: { convention, candidates },
      holders: { value: [{ record: holder }] },
      waiters: { list: [{ record: waiter }] },
    });
    const rows = await collect(backend.list(everyLock, forever).locks);
    expect(rows).toMatchObject([{ ref: { name }, recognition: { convention, candidates } }]);
    // Who knows better names one of them.
    for (const id of [convention, ...candidates]) {
      const ref = { name: parseText(name), convention: id };
      const forced = await backend.inspect(ref, forever);
      expect(forced).toMatchObject({ recognition: { convention: id, forced: true } });
    }
  });
});

test('ShedLock is freed by a past instant at its node, which stays', async () => {
  await seed([{ path: '/shedlock/nightly', data: '2999-01-01T00:00:00.000Z', ephemeral: false }]);
  const lock = await look('/shedlock/nightly');
  const preview = backend.preview(lock, {});
  expect(preview.deletes).toMatchObject([{ writes: '1970-01-01T00:00:00.000Z' }]);
  const result = await backend.release(lock, { timeoutMs: 5_000 }, forever);
  expect(result.outcome).toBe('released');
  expect((await raw.read('/shedlock/nightly'))?.data).toBe('1970-01-01T00:00:00.000Z');
  expect(await look('/shedlock/nightly')).toMatchObject({ state: 'free', identity: undefined });
});

test('ShedLock locked by another run since is another grant, although the node is the same', async () => {
  await seed([{ path: '/shedlock/nightly', data: '2999-01-01T00:00:00.000Z', ephemeral: false }]);
  const lock = await look('/shedlock/nightly');
  await raw.setData('/shedlock/nightly', '2999-02-02T00:00:00.000Z');
  expect((await look('/shedlock/nightly')).identity?.expect).not.toBe(lock.identity?.expect);
  const result = await backend.release(lock, { timeoutMs: 5_000 }, forever);
  expect(result.outcome).toBe('changed-hands');
  expect((await raw.read('/shedlock/nightly'))?.data).toBe('2999-02-02T00:00:00.000Z');
});

test('an active that went without a word leaves a breadcrumb that nobody may delete', async () => {
  await seed([{ path: '/hadoop-ha/c1/ActiveBreadCrumb', data: 'nn1', ephemeral: false }]);
  const lock = await look('/hadoop-ha/c1');
  expect(lock).toMatchObject({ state: 'free', identity: undefined });
  expect(lock.notes.map(({ code }) => code)).toContain('awaiting-fencing');
  expect(backend.preview(lock, {}).possible.can).toBe(false);
});
