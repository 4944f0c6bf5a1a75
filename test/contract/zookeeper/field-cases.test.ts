/** Situations from the field, set up as zkCli would, seen through the adapter. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Backend } from '../../../src/backends/backend.ts';
import type { LockDetail } from '../../../src/domain/lock.ts';
import { parseText } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { collect, everyLock, forever } from '../backend/subject.ts';
import { openTarget, RawZooKeeper } from './zookeeper-seeder.ts';

describe('readers and a writer, with four-letter words off and no AdminServer named', () => {
  const lab = useLab({ system: 'zookeeper', options: { '4lw': 'off' } });
  let first: RawZooKeeper;
  let second: RawZooKeeper;
  let backend: Backend;
  let paths: readonly [string, string, string];

  beforeAll(async () => {
    first = await RawZooKeeper.open(lab.target);
    second = await RawZooKeeper.open(lab.target);
    await first.makePath('/locks/stock');
    await first.makePath('/locks/empty');
    const enter = (session: RawZooKeeper, name: string, owner: string): Promise<string> =>
      session.create(`/locks/stock/${name}`, owner, 'ephemeral-sequential');
    paths = [
      await enter(first, '_c_11aa-__READ__', 'w1'),
      await enter(second, '_c_22bb-__WRIT__', 'w2'),
      await enter(second, '_c_33cc-__READ__', 'w2'),
    ];
    backend = await openTarget(lab.target.replace(/\?.*$/, ''));
  });
  afterAll(async () => {
    await backend.close();
    await first.close();
    await second.close();
  });

  async function look(): Promise<LockDetail> {
    const seen = await backend.inspect({ name: parseText('/locks/stock') }, forever);
    if (seen === undefined) throw new Error('/locks/stock is not there');
    return seen;
  }

  const hex = (session: RawZooKeeper): string => `0x${session.sessionId.toString(16)}`;
  const refused = {
    kind: 'unknown',
    reason: expect.stringContaining("cons is not in the server's whitelist") as unknown,
    remedy: expect.stringContaining('4lw.commands.whitelist=cons') as unknown,
  };

  test('the reader holds, the writer waits for it, and the second reader for the writer', async () => {
    expect(await look()).toMatchObject({
      state: 'held',
      mode: 'shared',
      holders: { kind: 'known', value: [{ owner: 'w1', mode: 'read' }] },
      waiters: {
        kind: 'exact',
        list: [
          { position: 1, owner: 'w2', mode: 'write', lease: { sessionId: hex(second) } },
          { position: 2, owner: 'w2', mode: 'read', lease: { sessionId: hex(second) } },
        ],
      },
      lease: { kind: 'session', sessionId: hex(first) },
    });
  });

  test('two contenders of one session are worth a note that names both', async () => {
    const notes = (await look()).notes.filter(({ code }) => code === 'same-session');
    expect(notes).toHaveLength(1);
    expect(notes[0]?.text).toMatch(/33cc.*22bb.*one session/);
    expect(notes[0]?.text).toContain(hex(second));
  });

  test('client addresses are unknown for the reason that the server gives, which is not parsed as data', async () => {
    expect(await look()).toMatchObject({
      holders: { value: [{ place: refused }] },
      waiters: { list: [{ place: refused }, { place: refused }] },
    });
  });

  test('the empty parent is not a held lock', async () => {
    const rows = await collect(backend.list(everyLock, forever).locks);
    expect(rows.map(({ ref, state }) => [ref.name, state])).not.toContainEqual([
      '/locks/empty',
      'held',
    ]);
    expect(rows.filter(({ state }) => state === 'held').map(({ ref }) => ref.name)).toEqual([
      '/locks/stock',
    ]);
  });

  test('a release of the reader deletes that node and no other, and the writer is next', async () => {
    const seen = await look();
    expect(backend.preview(seen, {}).next).toMatchObject({ value: { owner: 'w2' } });
    const result = await backend.release(seen, { timeoutMs: 5_000 }, forever);
    expect(result).toMatchObject({ outcome: 'released' });
    const left = await Promise.all(paths.map((path) => first.read(path)));
    expect(left.map((node) => node !== undefined)).toEqual([false, true, true]);
    expect(await look()).toMatchObject({
      mode: 'exclusive',
      holders: { value: [{ owner: 'w2', mode: 'write' }] },
      fence: { kind: 'token', token: left[1]?.czxid },
    });
  });
});
