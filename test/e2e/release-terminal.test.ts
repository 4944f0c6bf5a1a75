import { describe, expect, test } from 'vitest';
import { parseTarget } from '../../src/domain/target.ts';
import { until } from '../helpers/until.ts';
import { rawRedis } from '../contract/redis/redis-seeder.ts';
import { useLab } from '../helpers/servers.ts';
import { briefly, checked, nextToken, token, unwatched, useReleaseStage } from './release-stage.ts';

const stage = useReleaseStage({ options: { 'repl-diskless-sync-delay': '0' } });
const other = useLab({ system: 'redis', options: { 'repl-diskless-sync-delay': '0' } });
const question = "Type the lock's name to release it: ";

describe('a release on a terminal', () => {
  test('shows the plan, asks for the name, and releases when it is typed', async () => {
    await stage.raw.set('lock:job', token);
    const session = stage.releaseOnTerminal('lock:job', ...checked, ...briefly, '--execute');
    await session.shows(question);
    expect(session.shown()).toContain('Plan for lock:job');
    expect(await stage.raw.get('lock:job')).toBe(token);
    session.type('lock:job\r');
    expect(await session.ended()).toBe(0);
    expect(session.shown()).toContain('released   lock:job');
    expect(await stage.raw.exists('lock:job')).toBe(0);
  });

  test('refuses another name, and deletes nothing', async () => {
    await stage.raw.set('lock:job', token);
    const session = stage.releaseOnTerminal('lock:job', ...checked, '--execute');
    await session.shows(question);
    session.type('yes\r');
    expect(await session.ended()).toBe(5);
    expect(session.shown()).toContain('the name typed is not the name of the lock');
    expect(await stage.raw.get('lock:job')).toBe(token);
    expect(await stage.auditLines()).toEqual([]);
  });

  test.each([
    ['Ctrl-C', '\u0003'],
    ['the end of input', '\u0004'],
  ])('%s at the question exits 130 and touches nothing', async (_what, keys) => {
    await stage.raw.set('lock:job', token);
    const session = stage.releaseOnTerminal('lock:job', ...checked, '--execute');
    await session.shows(question);
    session.type(keys);
    expect(await session.ended()).toBe(130);
    expect(await stage.raw.get('lock:job')).toBe(token);
    expect(await stage.auditLines()).toEqual([]);
  });

  test('Ctrl-C after the write still records the outcome, and exits 130', async () => {
    await stage.raw.set('lock:job', token);
    const consent = await stage.consent('lock:job');
    const session = stage.releaseOnTerminal('lock:job', ...consent, ...checked, '--verify', '60s');
    await until('the key is gone', async () => (await stage.raw.exists('lock:job')) === 0);
    session.type('\u0003');
    expect(await session.ended()).toBe(130);
    expect(session.shown()).toContain('released   lock:job');
    expect(session.shown()).toContain('interrupted; last seen:');
    expect((await stage.auditLines()).map((line) => line.outcome)).toEqual([undefined, 'released']);
  });
});

describe('what changes between the plan and the typed name', () => {
  test('a lock that changed hands exits 6: the new owner keeps it', async () => {
    await stage.raw.set('lock:job', token);
    const session = stage.releaseOnTerminal('lock:job', ...checked, '--execute');
    await session.shows(question);
    await stage.raw.set('lock:job', nextToken);
    session.type('lock:job\r');
    expect(await session.ended()).toBe(6);
    expect(session.shown()).toContain(`changed-hands   lock:job   was ${token}`);
    expect(session.shown()).toContain('nothing was deleted');
    expect(await stage.raw.get('lock:job')).toBe(nextToken);
    expect(await stage.auditLines()).toEqual([]);
  });

  test('a Redisson lock that its owner took once more meanwhile is another record', async () => {
    await stage.raw.hset('invoice:close', '7d1b-uuid:31', 2);
    await stage.raw.pexpire('invoice:close', 120_000);
    const session = stage.releaseOnTerminal(
      'invoice:close',
      ...checked,
      ...unwatched,
      '--override',
      'single-hold=test',
      '--execute',
    );
    await session.shows(question);
    await stage.raw.hincrby('invoice:close', '7d1b-uuid:31', 1);
    session.type('invoice:close\r');
    expect(await session.ended()).toBe(6);
    expect(await stage.raw.hget('invoice:close', '7d1b-uuid:31')).toBe('3');
  });

  test('a lock that ended exits 6', async () => {
    await stage.raw.set('lock:job', token);
    const session = stage.releaseOnTerminal('lock:job', ...checked, '--execute');
    await session.shows(question);
    await stage.raw.del('lock:job');
    session.type('lock:job\r');
    expect(await session.ended()).toBe(6);
    expect(session.shown()).toContain('already-gone   lock:job');
  });

  test('a primary that became a replica is refused before anything is written', async () => {
    const [{ host, port }] = parseTarget(other.target).endpoints;
    const primary = rawRedis(other.target);
    await primary.set('lock:job', token);
    await stage.raw.set('lock:job', token);
    const session = stage.releaseOnTerminal('lock:job', ...checked, '--execute');
    try {
      await session.shows(question);
      await stage.raw.replicaof(host, port);
      await until('the link is up', async () =>
        (await stage.raw.info('replication')).includes('master_link_status:up'),
      );
      session.type('lock:job\r');
      expect(await session.ended()).toBe(5);
      expect(session.shown()).toContain('its role changed: primary → replica');
      expect(session.shown()).toContain('nothing was deleted');
      expect(await primary.get('lock:job')).toBe(token);
      expect(await stage.auditLines()).toEqual([]);
    } finally {
      await stage.raw.replicaof('NO', 'ONE');
      primary.disconnect();
    }
  });
});

describe('a replica as the target', () => {
  test('its plan is refused for good, names the primary, and a promotion in between changes nothing', async () => {
    const [{ host, port }] = parseTarget(stage.lab.target).endpoints;
    const replica = rawRedis(other.target);
    await stage.raw.set('lock:job', token);
    await replica.replicaof(host, port);
    try {
      await until(
        'the replica has the lock',
        async () => (await replica.get('lock:job')) === token,
      );
      const target = ['--target', other.target];
      const expected = await stage.expect('lock:job');
      const ready = ['--expect', expected, '--confirm', 'lock:job', '--execute', ...checked];
      const refused = await stage.release('lock:job', ...target, ...ready);
      expect(refused.code).toBe(5);
      expect(refused.stdout).toContain(`replica of ${host}:${port}`);
      expect(refused.stdout).toMatch(/REFUSED +writable-side/);
      const overridden = [...target, ...ready, '--override', 'writable-side=x'];
      expect((await stage.release('lock:job', ...overridden)).code).toBe(2);
      await replica.replicaof('NO', 'ONE');
      expect(await replica.get('lock:job')).toBe(token);
      expect(await stage.raw.get('lock:job')).toBe(token);
    } finally {
      await replica.replicaof('NO', 'ONE');
      replica.disconnect();
    }
  });
});
