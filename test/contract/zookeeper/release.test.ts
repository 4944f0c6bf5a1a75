/**
 * Releasing on ZooKeeper where it is dangerous: a node that takes the name between two requests, lost
 * requests and replies, missing rights, and the client library's transactions, which drop version 0.
 */
import zookeeper from 'node-zookeeper-client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Backend } from '../../../src/backends/backend.ts';
import { valueOf } from '../../../src/domain/known.ts';
import type { LockDetail } from '../../../src/domain/lock.ts';
import type { ReleaseResult } from '../../../src/domain/release.ts';
import { parseText } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';
import { forever } from '../backend/subject.ts';
import { zooKeeperRelay, type ZooKeeperRelay } from './zookeeper-relay.ts';
import { aclOf, openTarget, RawZooKeeper } from './zookeeper-seeder.ts';

const lab = useLab({ system: 'zookeeper' });
let owner: RawZooKeeper;
let other: RawZooKeeper;
let relay: ZooKeeperRelay;
let backend: Backend;

beforeAll(async () => {
  owner = await RawZooKeeper.open(lab.target);
  other = await RawZooKeeper.open(lab.target);
});
beforeEach(async () => {
  await owner.removeAll();
  relay = await zooKeeperRelay(lab.target);
  backend = await openTarget(relay.url());
});
afterEach(async () => {
  await backend.close();
  await relay.close();
});
afterAll(async () => {
  await owner.close();
  await other.close();
});

const guid = '_c_11111111-2222-4333-8444-555555555555-';
const unique = `/locks/a/${guid}lock-0000000000`;

async function take(path: string, data = 'w1', by = owner): Promise<string> {
  await by.makePath(path.slice(0, path.lastIndexOf('/')));
  return by.create(path, data, 'ephemeral');
}

async function look(name: string): Promise<LockDetail> {
  const lock = await backend.inspect({ name: parseText(name) }, forever);
  if (lock === undefined) throw new Error(`${name} is not there`);
  return lock;
}

function release(seen: LockDetail, timeoutMs = 5_000): Promise<ReleaseResult> {
  return backend.release(seen, { timeoutMs }, forever);
}

describe('a name with a GUID', () => {
  test('is deleted by one request that compares its data version, also after its owner wrote it', async () => {
    await take(unique);
    const seen = await look('/locks/a');
    await owner.setData(unique, 'w1 still');
    expect(await release(seen)).toMatchObject({ outcome: 'released' });
    expect(await owner.read(unique)).toBeUndefined();
    expect([relay.count('delete'), relay.count('setData')]).toEqual([1, 0]);
  });

  test('that its owner writes at the same moment stays, and is not tried again', async () => {
    await take(unique);
    const seen = await look('/locks/a');
    relay.next('delete', unique, async () => {
      await owner.setData(unique, 'still here');
      return 'passes';
    });
    const result = await release(seen);
    expect(result).toMatchObject({ outcome: 'changed-hands' });
    expect(await owner.read(unique)).toMatchObject({ data: 'still here', version: 1 });
    expect(relay.count('delete')).toBe(1);
  });

  test('whose queue goes on is told as the next holder’s by now', async () => {
    await take(unique);
    const next = `/locks/a/${guid}lock-0000000001`;
    await take(next, 'w2', other);
    const seen = await look('/locks/a');
    await owner.remove(unique);
    const result = await release(seen);
    expect(result).toMatchObject({ outcome: 'changed-hands' });
    expect(result.outcome === 'changed-hands' && result.now).toMatch(/w1 .*gone.*w2.*holds it/);
    expect(await other.read(next)).toBeDefined();
    expect(relay.count('delete')).toBe(0);
  });
});

describe('a name that can come again', () => {
  const solo = '/solo-lock';

  test('is written sixteen times and then deleted, each under the version before', async () => {
    await take(solo);
    const result = await release(await look(solo));
    expect(result).toMatchObject({
      outcome: 'released',
      reply: 'version raised to 16, deleted at data version 16',
    });
    expect([relay.count('setData'), relay.count('delete')]).toEqual([16, 1]);
  });

  test('replaced before the release, at the same data version, is not touched at all', async () => {
    await take(solo);
    const seen = await look(solo);
    await owner.remove(solo);
    await take(solo, 'w2', other);
    expect(await release(seen)).toMatchObject({
      outcome: 'changed-hands',
      reply: 'nothing was sent',
    });
    expect(await other.read(solo)).toMatchObject({ data: 'w2', version: 0 });
    expect([relay.count('setData'), relay.count('delete')]).toEqual([0, 0]);
  });

  test('replaced right before the write keeps its node, and gets its own data back', async () => {
    await take(solo);
    const seen = await look(solo);
    // The first read is the look, the second one travels with the write.
    relay.next('getData', solo, () => {
      relay.next('getData', solo, async () => {
        await owner.remove(solo);
        await take(solo, 'w2', other);
        return 'passes';
      });
      return Promise.resolve('passes');
    });
    const result = await release(seen);
    expect(result).toMatchObject({ outcome: 'changed-hands' });
    expect(result.outcome === 'changed-hands' && result.now).toMatch(
      /version raised to 1; its own data were written back/,
    );
    expect(await other.read(solo)).toMatchObject({ data: 'w2', version: 2 });
    expect(relay.count('delete')).toBe(0);
  });

  test('replaced in the very step of the write keeps its node, and what became of its data is said', async () => {
    for (const data of ['w1', 'w2']) {
      await take(solo);
      const seen = await look(solo);
      relay.next('setData', solo, async () => {
        await owner.remove(solo);
        await take(solo, data, other);
        return 'passes';
      });
      const result = await release(seen);
      expect(result).toMatchObject({ outcome: 'changed-hands' });
      expect(result.outcome === 'changed-hands' && result.now).toContain(
        'came into being during the write',
      );
      expect(await other.read(solo)).toMatchObject({ version: 1 });
      await other.remove(solo);
    }
    expect(relay.count('delete')).toBe(0);
  });

  test('replaced between the write and the delete stays: the delete names the raised version', async () => {
    await take(solo);
    const seen = await look(solo);
    relay.next('delete', solo, async () => {
      await owner.remove(solo);
      await take(solo, 'w2', other);
      return 'passes';
    });
    expect(await release(seen)).toMatchObject({ outcome: 'changed-hands' });
    expect(await other.read(solo)).toMatchObject({ data: 'w2', version: 0 });
  });

  test('below a parent that was created again is refused', async () => {
    await take('/locks/p/lock-0000000000');
    const seen = await look('/locks/p');
    await owner.removeTree('/locks/p');
    await take('/locks/p/lock-0000000000', 'w2', other);
    const result = await release(seen);
    expect(result).toMatchObject({ outcome: 'refused', reply: 'nothing was sent' });
    expect(result.outcome === 'refused' && result.reason).toContain('parent was created again');
    expect(await other.read('/locks/p/lock-0000000000')).toMatchObject({ data: 'w2', version: 0 });
  });
});

describe('what was lost on the way', () => {
  test('a lost reply to the delete is unknown although the node is gone, and nothing is sent again', async () => {
    await take(unique);
    const seen = await look('/locks/a');
    relay.next('delete', unique, () => Promise.resolve('reply-lost'));
    const result = await release(seen, 1_000);
    expect(result).toMatchObject({ outcome: 'unknown' });
    expect(result.outcome === 'unknown' && result.reason).toContain('by this release or by itself');
    expect(await owner.read(unique)).toBeUndefined();
    expect(relay.count('delete')).toBe(1);
  });

  test('a delete that never arrived is unknown as well, and is not made up for', async () => {
    await take(unique);
    const seen = await look('/locks/a');
    relay.next('delete', unique, () => Promise.resolve('request-lost'));
    const result = await release(seen, 1_000);
    expect(result).toMatchObject({ outcome: 'unknown' });
    expect(result.outcome === 'unknown' && result.reason).toContain('still there');
    expect(await owner.read(unique)).toBeDefined();
    expect(relay.count('delete')).toBe(1);
  });

  test('after a lost reply to the write no delete is sent', async () => {
    await take('/solo-lock');
    const seen = await look('/solo-lock');
    relay.next('setData', '/solo-lock', () => Promise.resolve('reply-lost'));
    const result = await release(seen, 1_000);
    expect(result).toMatchObject({ outcome: 'refused' });
    expect(result.outcome === 'refused' && result.reason).toContain('no delete was sent');
    expect(await owner.read('/solo-lock')).toMatchObject({ data: 'w1', version: 1 });
    expect([relay.count('setData'), relay.count('delete')]).toEqual([1, 0]);
  });
});

describe('rights and records that stand in the way', () => {
  test('without the right to write the node nothing weaker is tried, although the delete would work', async () => {
    const app = await RawZooKeeper.open(lab.target, {
      auth: 'app:pw',
      acl: aclOf('app:pw', 'world-reads'),
    });
    await owner.makePath('/locks/w');
    await take('/locks/w/lock-0000000000', 'w1', app);
    const result = await release(await look('/locks/w'));
    expect(result).toMatchObject({ outcome: 'refused' });
    expect(result.outcome === 'refused' && result.reason).toContain('may not write the node');
    expect([relay.count('setData'), relay.count('delete')]).toEqual([1, 0]);
    // The parent is open: a delete by version alone would have gone through.
    await owner.remove('/locks/w/lock-0000000000', 0);
    await app.close();
  });

  test('without the right to delete below the parent it says that the version was raised', async () => {
    const app = await RawZooKeeper.open(lab.target, {
      auth: 'app:pw',
      acl: aclOf('app:pw', 'world-reads'),
    });
    await owner.makePath('/locks');
    await app.create('/locks/d', '');
    const open = await RawZooKeeper.open(lab.target, { auth: 'app:pw' });
    await take('/locks/d/lock-0000000000', 'w1', open);
    const result = await release(await look('/locks/d'));
    expect(result).toMatchObject({ outcome: 'refused' });
    expect(result.outcome === 'refused' && result.reason).toMatch(
      /may not delete below its parent; version raised to 16, nothing was deleted/,
    );
    await open.remove('/locks/d/lock-0000000000');
    await app.remove('/locks/d');
    await app.close();
    await open.close();
  });

  test('a lock node with children is refused: nothing is deleted with its children', async () => {
    await owner.makePath('/locks/c/lock-0000000000/below');
    const result = await release(await look('/locks/c'));
    expect(result).toMatchObject({ outcome: 'refused', reply: 'nothing was sent' });
    expect(result.outcome === 'refused' && result.reason).toContain('1 children');
    expect(await owner.read('/locks/c/lock-0000000000/below')).toBeDefined();
  });

  test('a hold, the end of a session and a fence floor are refused for good, with the reason', async () => {
    await take(unique);
    const seen = await look('/locks/a');
    const hold = { owner: parseText('me'), ttlMs: 60_000 };
    for (const how of [{ hold }, { endSession: true }, { fenceFloor: parseText('/floor') }]) {
      const { possible, fenceFloor } = backend.preview(seen, how);
      expect(fenceFloor ?? possible).toMatchObject({ can: false });
      const result = await backend.release(seen, { ...how, timeoutMs: 1_000 }, forever);
      expect(result).toMatchObject({ outcome: 'refused', reply: 'nothing was sent' });
    }
    const { capabilities } = await backend.probe(forever);
    expect([capabilities.hold.can, capabilities.endSession.can]).toEqual([false, false]);
  });
});

describe('who is released', () => {
  test('a waiter is no holder; once it holds, its token is another', async () => {
    await take(unique);
    const next = `/locks/a/${guid}lock-0000000001`;
    await take(next, 'w2', other);
    const waiting = await look(next);
    expect(backend.preview(waiting, {}).possible).toMatchObject({ can: false });
    expect(await release(waiting)).toMatchObject({ outcome: 'refused', reply: 'nothing was sent' });
    await owner.remove(unique);
    const holding = await look(next);
    expect(holding.identity?.expect).not.toBe(waiting.identity?.expect);
    expect(backend.preview(holding, {}).possible).toEqual({ can: true });
    expect(await other.read(next)).toBeDefined();
  });

  test('of several readers the one named by its path goes, and its own session is the lease', async () => {
    const paths = ['0', '1'].map((n) => `/locks/rw/${guid}__READ__000000000${n}`);
    await take(paths[0] ?? '', 'r1');
    await take(paths[1] ?? '', 'r2', other);
    const seen = await look(paths[1] ?? '');
    expect(seen).toMatchObject({
      ref: { name: paths[1] },
      partOf: { name: '/locks/rw' },
      lease: { kind: 'session', sessionId: `0x${other.sessionId.toString(16)}` },
    });
    const preview = backend.preview(seen, {});
    expect(preview.next).toEqual({ kind: 'known', value: 'nobody' });
    expect(preview.warnings.join(' ')).toContain('1 other holders stay');
    expect(await release(seen)).toMatchObject({ outcome: 'released' });
    expect(await owner.read(paths[0] ?? '')).toBeDefined();
    expect(await other.read(paths[1] ?? '')).toBeUndefined();
  });

  test('the next in line is named, with whether anybody will tell it, and gets a greater fence', async () => {
    await take(unique);
    const [second, third] = ['1', '2'].map((n) => `/locks/a/${guid}lock-000000000${n}`);
    await take(second ?? '', 'w2', other);
    await take(third ?? '', 'w3', other);
    const stranded = await look('/locks/a');
    expect(stranded.notes.filter(({ code }) => code === 'stranded-waiter')).toHaveLength(2);
    expect(backend.preview(stranded, {}).warnings.join(' ')).toContain('the next in line');
    await other.watch(unique);
    await other.watch(second ?? '');
    const seen = await look('/locks/a');
    expect(seen.notes.filter(({ code }) => code === 'stranded-waiter')).toEqual([]);
    const preview = backend.preview(seen, {});
    expect(valueOf(preview.next)).toMatchObject({ owner: 'w2' });
    expect(preview.warnings.join(' ')).not.toContain('watches nothing');
    expect(preview).toMatchObject({ raisesFence: undefined, wakes: [], alsoFalls: { value: [] } });
    expect(await release(seen)).toMatchObject({ outcome: 'released' });
    const [before, after] = [seen.fence, (await look('/locks/a')).fence];
    if (before.kind !== 'token' || after.kind !== 'token') throw new Error('both have a fence');
    expect(after.token).toBeGreaterThan(before.token);
  });

  test('what else its session has is told by the members', async () => {
    await take(unique);
    await take('/members/node-1');
    const { lease } = await look('/locks/a');
    expect(lease.kind === 'session' && lease.shared).toEqual({
      kind: 'known',
      value: ['/members/node-1'],
    });
    expect(backend.preview(await look('/locks/a'), { endSession: true }).alsoFalls).toEqual({
      kind: 'known',
      value: ['/members/node-1'],
    });
  });
});

describe('the client library’s transactions', () => {
  test('delete a node at version 3 when asked for version 0; a release by a stale look does not', async () => {
    const at3 = async (path: string): Promise<void> => {
      await take(path);
      for (const data of ['a', 'b', 'c']) await owner.setData(path, data);
      expect(await owner.read(path)).toMatchObject({ version: 3 });
    };
    await at3('/tx-lock');
    await new Promise<void>((resolve, reject) => {
      owner.client
        .transaction()
        .remove('/tx-lock', 0)
        .commit((error) => {
          if (error instanceof Error) reject(error);
          else resolve();
        });
    });
    expect(await owner.read('/tx-lock'), 'the bug').toBeUndefined();

    await take('/tx-lock');
    const seen = await look('/tx-lock');
    relay.next('setData', '/tx-lock', async () => {
      await owner.remove('/tx-lock');
      await at3('/tx-lock');
      return 'passes';
    });
    expect(await release(seen)).toMatchObject({ outcome: 'changed-hands' });
    expect(await owner.read('/tx-lock')).toMatchObject({ data: 'c', version: 3 });
  });

  test('delete at version 0 is right outside of them', async () => {
    await take('/plain-lock');
    await owner.setData('/plain-lock', 'a');
    await expect(owner.remove('/plain-lock', 0)).rejects.toMatchObject({
      code: zookeeper.Exception.BAD_VERSION,
    });
  });

  test('are never on the wire of a release', async () => {
    await take(unique);
    await take('/solo-lock');
    await release(await look('/locks/a'));
    await release(await look('/solo-lock'));
    await until('both are gone', async () => (await owner.read('/solo-lock')) === undefined);
    expect(relay.count('multi')).toBe(0);
  });
});
