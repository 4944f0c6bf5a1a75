/** Targets and nodes that are not as they should be: users, chroots, ACLs, numbers that overflow. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Backend, ListTally } from '../../../src/backends/backend.ts';
import type { LockSnapshot } from '../../../src/domain/lock.ts';
import { parseText } from '../../../src/domain/text.ts';
import { fencepost } from '../../helpers/fencepost.ts';
import { useLab } from '../../helpers/servers.ts';
import { collect, everyLock, forever } from '../backend/subject.ts';
import { aclOf, openTarget, RawZooKeeper } from './zookeeper-seeder.ts';

const lab = useLab({ system: 'zookeeper' });
let raw: RawZooKeeper;
let app: RawZooKeeper;

beforeAll(async () => {
  raw = await RawZooKeeper.open(lab.target);
  app = await RawZooKeeper.open(lab.target, { auth: 'app:pw', acl: aclOf('app:pw', 'nobody') });
});
beforeEach(async () => {
  await app.removeAll();
});
afterAll(async () => {
  await app.close();
  await raw.close();
});

async function through<T>(url: string, look: (backend: Backend) => Promise<T>): Promise<T> {
  const backend = await openTarget(url);
  try {
    return await look(backend);
  } finally {
    await backend.close();
  }
}

function list(url: string): Promise<{ rows: readonly LockSnapshot[]; tally: ListTally }> {
  return through(url, async (backend) => {
    const listing = backend.list(everyLock, forever);
    return { rows: await collect(listing.locks), tally: listing.tally };
  });
}

const names = (rows: readonly LockSnapshot[]): readonly string[] => rows.map(({ ref }) => ref.name);

describe('nodes that an ACL hides', () => {
  beforeEach(async () => {
    await raw.makePath('/locks/open');
    await raw.create('/locks/open/lock-', 'w1', 'ephemeral-sequential');
    await app.create('/locks/closed', '');
    await app.create('/locks/closed/lock-', 'w2', 'ephemeral-sequential');
    await raw.makePath('/locks/half');
    await app.create('/locks/half/lock-', 'w3', 'ephemeral-sequential');
  });

  test('are counted, not left out without a word: an open lock beside them is listed', async () => {
    const { rows, tally } = await list(lab.target);
    expect(names(rows)).toContain('/locks/open');
    expect(names(rows)).not.toContain('/locks/closed');
    expect(tally.hidden).toBeGreaterThan(0);
  });

  test('are said to hide who holds the lock, whose order is known all the same', async () => {
    await through(lab.target, async (backend) => {
      const seen = await backend.inspect({ name: parseText('/locks/half') }, forever);
      expect(seen).toMatchObject({ state: 'held' });
      expect(seen?.notes.map(({ code }) => code)).toContain('hidden-children');
      const closed = backend.inspect({ name: parseText('/locks/closed') }, forever);
      await expect(closed).rejects.toMatchObject({
        code: 'zookeeper-no-auth',
        exitCode: 4,
        message: expect.stringContaining('/locks/closed') as unknown,
      });
    });
  });

  test('are read by the user that they are for', async () => {
    const { rows, tally } = await list(lab.target.replace('zk://', 'zk://app:pw@'));
    expect(names(rows).toSorted()).toEqual(['/locks/closed', '/locks/half', '/locks/open']);
    expect(tally.hidden).toBe(0);
  });

  test('stay hidden from a user with the wrong password: ZooKeeper takes any, and so it is counted', async () => {
    const { rows, tally } = await list(lab.target.replace('zk://', 'zk://app:wrong@'));
    expect(names(rows)).not.toContain('/locks/closed');
    expect(tally.hidden).toBeGreaterThan(0);
  });

  test('are mentioned by the program, which never prints its password', async () => {
    const target = lab.target.replace('zk://', 'zk://app:s3cret-word@');
    const ran = await fencepost(['ls', '--target', target]);
    expect(ran.stdout).toContain('/locks/open');
    expect(ran.stderr).toMatch(/hidden|may not/);
    expect(ran.stdout + ran.stderr).not.toContain('s3cret-word');
  });
});

test('a chroot that is not there is told in one sentence with exit code 4, not an empty list', async () => {
  const [host] = lab.target.split('?');
  const ran = await fencepost(['ls', '--target', `${host ?? ''}/nope`]);
  expect([ran.code, ran.stdout]).toEqual([4, '']);
  expect(ran.stderr).toBe(
    `fencepost: chroot "/nope" does not exist on ${host ?? ''}\n  leave the path out of the target, or create the node first\n`,
  );
});

test('names below a chroot are those that its users know', async () => {
  await raw.makePath('/apps/one/locks/a');
  const path = await raw.create('/apps/one/locks/a/lock-', 'w1', 'ephemeral-sequential');
  const [host, query] = lab.target.split('?');
  await through(`${host ?? ''}/apps/one?${query ?? ''}`, async (backend) => {
    const rows = await collect(backend.list(everyLock, forever).locks);
    expect(names(rows)).toEqual(['/locks/a']);
    const seen = await backend.inspect({ name: parseText('/locks/a') }, forever);
    if (seen === undefined) throw new Error('/locks/a is not there');
    const result = await backend.release(seen, { timeoutMs: 5_000 }, forever);
    expect(result).toMatchObject({ outcome: 'released' });
  });
  expect(await raw.read(path)).toBeUndefined();
});

test('the number after 2147483647 is negative, and still later than it', async () => {
  await raw.makePath('/locks/old');
  for (const [name, owner] of [
    ['lock--2147483648', 'after'],
    ['lock-2147483647', 'before'],
  ] as const) {
    await raw.create(`/locks/old/${name}`, owner, 'ephemeral');
  }
  await through(lab.target, async (backend) => {
    expect(await backend.inspect({ name: parseText('/locks/old') }, forever)).toMatchObject({
      holders: { value: [{ owner: 'before' }] },
      waiters: { list: [{ owner: 'after' }] },
    });
  });
});

test('contenders that vanish between the walk and the read are left out, and nothing fails', async () => {
  const parents = Array.from({ length: 40 }, (_, index) => `/locks/busy-${index}`);
  for (const parent of parents) await raw.makePath(parent);
  const churning = new AbortController();
  const churn = (async () => {
    while (!churning.signal.aborted) {
      const made = await Promise.all(
        parents.map((parent) => raw.create(`${parent}/lock-`, 'w', 'ephemeral-sequential')),
      );
      await Promise.all(made.map((path) => raw.remove(path)));
    }
  })();
  try {
    for (let round = 0; round < 5; round += 1) {
      const { rows, tally } = await list(lab.target);
      expect(tally.hidden).toBe(0);
      expect(rows.filter(({ state }) => state !== 'held' && state !== 'free')).toEqual([]);
    }
  } finally {
    churning.abort();
    await churn;
  }
});
