/** Who watches whom, as an account that may only read sees it; and what is said where nobody tells. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { LockDetail } from '../../../src/domain/lock.ts';
import { parseText } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { forever } from '../backend/subject.ts';
import { aclOf, openTarget, RawZooKeeper } from './zookeeper-seeder.ts';

const lab = useLab({ system: 'zookeeper' });
let holder: RawZooKeeper;
let waiter: RawZooKeeper;
let observer: RawZooKeeper;
let paths: readonly [string, string];

beforeAll(async () => {
  const own = { auth: 'app:pw', acl: aclOf('app:pw', 'world-reads') };
  holder = await RawZooKeeper.open(lab.target, own);
  waiter = await RawZooKeeper.open(lab.target, own);
  observer = await RawZooKeeper.open(lab.target);
});
beforeEach(async () => {
  await holder.removeAll();
  await holder.makePath('/locks/a');
  paths = [
    await holder.create('/locks/a/lock-', 'w1', 'ephemeral-sequential'),
    await waiter.create('/locks/a/lock-', 'w2', 'ephemeral-sequential'),
  ];
});
afterAll(async () => {
  await Promise.all([holder, waiter, observer].map((session) => session.close()));
});

/** Through a session of its own, which may read everything and change nothing. */
async function lookAt(url: string): Promise<LockDetail> {
  const backend = await openTarget(url);
  try {
    const seen = await backend.inspect({ name: parseText('/locks/a') }, forever);
    if (seen === undefined) throw new Error('/locks/a is not there');
    return seen;
  } finally {
    await backend.close();
  }
}

const strandedIn = ({ notes }: LockDetail): readonly string[] =>
  notes.flatMap(({ code, text }) => (code === 'stranded-waiter' ? [text] : []));

describe('a waiter', () => {
  test('is stranded although another session watches what it waits for', async () => {
    await observer.watch(paths[0]);
    const seen = await lookAt(lab.target);
    expect(strandedIn(seen)).toEqual([expect.stringContaining('lock-0000000001')]);
    expect(seen.waiters).toMatchObject({
      list: [{ owner: 'w2', watches: { kind: 'known', value: 'nothing' } }],
    });
  });

  test('that watches what it waits for is not, whoever else watches', async () => {
    await observer.watch(paths[0]);
    await waiter.watch(paths[0]);
    const seen = await lookAt(lab.target);
    expect(strandedIn(seen)).toEqual([]);
    expect(seen.waiters).toMatchObject({
      list: [{ watches: { kind: 'known', value: 'lock-0000000000' } }],
    });
  });

  test('is judged by four-letter words where no AdminServer is named', async () => {
    const url = lab.target.replace(/\?.*$/, '');
    expect(strandedIn(await lookAt(url))).toHaveLength(1);
    await waiter.watch(paths[0]);
    expect(strandedIn(await lookAt(url))).toEqual([]);
  });
});

describe('with four-letter words off and no AdminServer named', () => {
  const closed = useLab({ system: 'zookeeper', options: { '4lw': 'off' } });

  test('whether a waiter is stranded is unknown, with the reason, and no warning is made up', async () => {
    const url = closed.target.replace(/\?.*$/, '');
    const raw = await RawZooKeeper.open(url);
    await raw.makePath('/locks/a');
    await raw.create('/locks/a/lock-', 'w1', 'ephemeral-sequential');
    await raw.create('/locks/a/lock-', 'w2', 'ephemeral-sequential');
    const seen = await lookAt(url);
    await raw.close();
    expect(strandedIn(seen)).toEqual([]);
    expect(seen.waiters).toMatchObject({
      list: [
        {
          watches: {
            kind: 'unknown',
            reason: expect.stringContaining("wchp is not in the server's whitelist") as unknown,
          },
        },
      ],
    });
  });
});
