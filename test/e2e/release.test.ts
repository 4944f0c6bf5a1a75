import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { fencedKeys } from '../../src/domain/fenced-layout.ts';
import { acquire as acquireFenced } from '../../src/protocols/redis-fenced-scripts.ts';
import { rawRedis } from '../contract/redis/redis-seeder.ts';
import { until } from '../helpers/until.ts';
import { briefly, checked, nextToken, token, unwatched, useReleaseStage } from './release-stage.ts';

const stage = useReleaseStage();

describe('a release plan', () => {
  test('says what executing would do and why it would be refused, exits 5 and touches nothing', async () => {
    await stage.raw.set('lock:job', token);
    const plan = await stage.release('lock:job', '--expect', await stage.expect('lock:job'));
    expect(plan.code).toBe(5);
    expect(plan.stdout).toContain('Nothing is changed without --execute.');
    expect(plan.stdout).toMatch(/UNKNOWN +owner-connection/);
    expect(plan.stdout).toContain('REFUSED by owner-connection.');
    expect(plan.stdout).toContain('--override owner-connection=');
    expect(plan.stdout).toContain(`its value is still ${token}`);
    expect(plan.stdout).toContain('the owner is not told');
    expect(await stage.raw.get('lock:job')).toBe(token);
    expect(await stage.auditLines()).toEqual([]);
  });

  test('exits 0 when every guard is satisfied or overridden, and prints the command that executes it', async () => {
    await stage.raw.set('lock:job', token);
    const expected = await stage.expect('lock:job');
    const plan = await stage.release('lock:job', '--expect', expected, ...checked);
    expect(plan.code).toBe(0);
    expect(plan.stdout).toContain('May be executed.');
    expect(plan.stdout).toContain(`--expect ${expected}`);
    expect(plan.stdout).toContain('--execute --confirm lock:job');
    expect(await stage.raw.get('lock:job')).toBe(token);
  });

  test('as JSON has every guard, the liveness and a schema version', async () => {
    await stage.raw.set('lock:job', token);
    const plan = await stage.release('lock:job', '-o', 'json');
    expect(plan.code).toBe(5);
    expect(JSON.parse(plan.stdout)).toMatchObject({
      schemaVersion: 1,
      lock: 'lock:job',
      executed: false,
      liveness: { verdict: 'undecided' },
      refusedBy: ['same-grant', 'owner-connection'],
    });
  });

  test('refuses while the owner renews its lease', async () => {
    await stage.raw.set('lock:job', token, 'PX', 60_000);
    const renewal = setInterval(() => void stage.raw.pexpire('lock:job', 60_000), 100);
    const plan = await stage.release('lock:job', '--observe', '1500ms');
    clearInterval(renewal);
    expect(plan.code).toBe(5);
    expect(plan.stdout).toMatch(/REFUSED +no-renewal +its owner is alive: renewed/);
  });

  test('advises to wait for a lease that ends by itself soon', async () => {
    await stage.raw.set('lock:job', token, 'PX', 9_000);
    // However long the program takes to start, it finds this much.
    const refill = setInterval(() => void stage.raw.pexpire('lock:job', 9_000), 100);
    const plan = await stage.release('lock:job', ...unwatched);
    clearInterval(refill);
    expect(plan.code).toBe(5);
    expect(plan.stdout).toMatch(/REFUSED +expires-soon +frees itself in/);
    expect(plan.stdout).toContain('--wait-expiry');
  });

  test('refuses a value that every holder shares, and a record that is no lock', async () => {
    await stage.raw.set('lock:import', 'worker');
    const shared = await stage.release('lock:import');
    expect(shared.code).toBe(5);
    expect(shared.stdout).toMatch(/REFUSED +owner-distinct/);
    await stage.raw.rpush('queue:mail', 'a', 'b');
    const noLock = await stage.release('queue:mail', '--override', 'format-recognised=it is one');
    expect(noLock.code).toBe(2);
    expect(noLock.stderr).toContain('"format-recognised" cannot be overridden here');
    expect(await stage.raw.llen('queue:mail')).toBe(2);
  });
});

describe('an executed release', () => {
  test('deletes exactly the grant, verifies it, and records intent and outcome in a chained private log', async () => {
    await stage.raw.set('lock:job', token);
    const consent = await stage.consent('lock:job');
    const done = await stage.release('lock:job', ...consent, ...checked, ...briefly);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toMatch(
      new RegExp(`^released   lock:job   was ${token}   log [0-9-]{10}#2`),
    );
    expect(done.stdout).toContain('free; the old owner did not come back');
    expect(done.stdout).toContain('its owner has not been told');
    expect(await stage.raw.exists('lock:job')).toBe(0);
    const lines = await stage.auditLines();
    expect(lines.map(({ kind, outcome }) => [kind, outcome])).toEqual([
      ['intent', undefined],
      ['outcome', 'released'],
    ]);
    expect(lines[0]).toMatchObject({
      overrides: { 'owner-connection': 'the pod is gone' },
      expect: consent[2],
    });
    expect((await stat(stage.auditFile)).mode & 0o777).toBe(0o600);
    const [first = ''] = (await readFile(stage.auditFile, 'utf8')).split('\n');
    expect(lines[1]?.previous).toBe(createHash('sha256').update(first).digest('hex'));
  });

  test('of a fenced lock raises the fence in the same step, and says whom that fences', async () => {
    const { lock, fence, history } = fencedKeys('job');
    await stage.raw.eval(acquireFenced, 3, lock, fence, history, token, 60_000);
    const done = await stage.release(
      'job',
      ...(await stage.consent('job')),
      ...checked,
      ...unwatched,
      ...briefly,
    );
    expect(done.code).toBe(0);
    expect(done.stdout).toContain(
      'raised to 2; it fences nobody unless the resource refuses smaller',
    );
    expect(await stage.raw.get(fence)).toBe('2');
  });

  test('tells the resource of the floor first, and deletes nothing when it does not listen', async () => {
    const { lock, fence, history } = fencedKeys('job');
    await stage.raw.eval(acquireFenced, 3, lock, fence, history, token, 60_000);
    const ready = [...(await stage.consent('job')), ...checked, ...unwatched, ...briefly];
    const heard = `${stage.auditFile}.heard`;
    const deaf = `cat > ${heard}; echo the shop is closed >&2; exit 1`;
    const refused = await stage.release('job', ...ready, '--notify', deaf);
    expect(refused.code).toBe(5);
    expect(refused.stdout).toContain('the resource was not told: exit code 1: the shop is closed');
    expect(await stage.raw.exists(lock)).toBe(1);
    expect(JSON.parse(await readFile(heard, 'utf8'))).toMatchObject({
      schemaVersion: 1,
      oldToken: '1',
      floor: '2',
      owners: [token],
    });
    const done = await stage.release('job', ...ready, '--notify', 'cat > /dev/null');
    expect(done.code).toBe(0);
    expect(done.stdout).toContain('notify     the resource was told of floor 2');
    const told = (await stage.auditLines()).map(({ outcome, notified }) => [outcome, notified]);
    expect(told).toMatchObject([
      [undefined, undefined],
      ['refused', { told: false, reason: 'exit code 1: the shop is closed' }],
      [undefined, undefined],
      ['released', { told: true, floor: '2' }],
    ]);
  });

  test('names who took the lock over', async () => {
    await stage.raw.set('lock:job', token);
    const consent = await stage.consent('lock:job');
    const running = stage.release(
      'lock:job',
      ...consent,
      ...checked,
      '--verify',
      '2s',
      '-o',
      'json',
    );
    await until('the lock is free', async () => {
      return (await stage.raw.set('lock:job', nextToken, 'NX')) === 'OK';
    });
    const done = await running;
    expect(done.code).toBe(0);
    expect(JSON.parse(done.stdout)).toMatchObject({
      executed: true,
      outcome: 'taken-over-by',
      verification: { outcome: 'taken-over', owner: nextToken, higherFence: 'unknown' },
    });
    expect(await stage.raw.get('lock:job')).toBe(nextToken);
  });

  test('exits 3 when a renewal brings the old owner back', async () => {
    await stage.raw.set('lock:job', token);
    const consent = await stage.consent('lock:job');
    const running = stage.release('lock:job', ...consent, ...checked, '--verify', '5s');
    // A watchdog that sets its key again whenever it is not there.
    await until('the lock is free', async () => {
      return (await stage.raw.set('lock:job', token, 'NX')) === 'OK';
    });
    const done = await running;
    expect(done.code).toBe(3);
    expect(done.stdout).toMatch(/^came-back/);
    expect(done.stdout).toContain(`${token} holds it again`);
    expect((await stage.auditLines()).at(-1)?.outcome).toBe('came-back');
  });

  test('with --hold puts the operator in the place of the owner in one step', async () => {
    await stage.raw.set('lock:job', token);
    const consent = await stage.consent('lock:job');
    const done = await stage.release(
      'lock:job',
      ...consent,
      ...checked,
      ...briefly,
      '--hold',
      '10m',
    );
    expect(done.code).toBe(0);
    expect(done.stdout).toContain('held by you');
    expect(await stage.raw.get('lock:job')).toMatch(/^fencepost-hold:/);
    expect(await stage.raw.pttl('lock:job')).toBeGreaterThan(590_000);
  });

  test('is refused a second time within ten minutes, by a guard that can be overridden', async () => {
    for (const [owner, code] of [
      [token, 0],
      [nextToken, 5],
    ] as const) {
      await stage.raw.set('lock:job', owner);
      const consent = await stage.consent('lock:job');
      const done = await stage.release('lock:job', ...consent, ...checked, ...briefly);
      expect(done.code).toBe(code);
      if (code === 5) expect(done.stdout).toMatch(/REFUSED +not-again/);
    }
  });

  test('of a name with control characters works by its escaped form, and prints no raw byte', async () => {
    const name = 'lock:\n\u001b[31mred';
    await stage.raw.set(name, token);
    const escaped = 'lock:\\n\\x1b[31mred';
    const done = await stage.release(
      escaped,
      ...(await stage.consent(escaped)),
      ...checked,
      ...briefly,
    );
    expect(done.code).toBe(0);
    expect(done.stdout).toContain(`released   ${escaped}`);
    expect(done.stdout).not.toContain('\u001b');
    expect(await stage.raw.exists(name)).toBe(0);
  });
});

describe('a Redisson lock that its holder took twice', () => {
  test('is refused; when overridden the whole record goes and the waiter is woken with 0', async () => {
    await stage.raw.hset('invoice:close', '7d1b-uuid:31', 2);
    await stage.raw.pexpire('invoice:close', 120_000);
    const waiter = rawRedis(stage.lab.target);
    const heard: string[] = [];
    await waiter.subscribe('redisson_lock__channel:{invoice:close}');
    waiter.on('message', (_channel, message) => heard.push(message));
    const consent = await stage.consent('invoice:close');
    const ready = [...consent, ...checked, ...unwatched, ...briefly];
    const refused = await stage.release('invoice:close', ...ready);
    expect(refused.code).toBe(5);
    expect(refused.stdout).toMatch(/REFUSED +single-hold +its holder took it 2 times/);
    expect(await stage.raw.hget('invoice:close', '7d1b-uuid:31')).toBe('2');
    expect(heard).toEqual([]);
    const done = await stage.release('invoice:close', ...ready, '--override', 'single-hold=dead');
    expect(done.code).toBe(0);
    expect(done.stdout).toContain('free; the old owner did not come back');
    expect(await stage.raw.exists('invoice:close')).toBe(0);
    await until('the waiter hears it', () => heard.length > 0);
    expect(heard).toEqual(['0']);
    waiter.disconnect();
  });
});

describe('a Redisson lock that two readers share', () => {
  const [first, second] = ['r1-uuid:5', 'r2-uuid:9'] as const;

  test('is released for the one that is named, and the other goes on holding it', async () => {
    await stage.raw.hset('catalog', { mode: 'read', [first]: 1, [second]: 1 });
    await stage.raw.pexpire('catalog', 600_000);
    for (const reader of [first, second]) {
      await stage.raw.set(`{catalog}:${reader}:rwlock_timeout:1`, '1', 'PX', 600_000);
    }
    const unnamed = await stage.release('catalog', ...unwatched);
    expect(unnamed.code).toBe(5);
    expect(unnamed.stdout).toContain(`name it: --holder ${first} or ${second}`);
    const named = ['--holder', second, ...unwatched, ...checked];
    const plan = await stage.release('catalog', ...named, '-o', 'json');
    const grant = /"expect": "([^"]+)"/.exec(plan.stdout)?.[1] ?? '';
    const consent = ['--execute', '--confirm', 'catalog', '--expect', grant];
    const done = await stage.release('catalog', ...named, ...consent, ...briefly);
    expect(done.stdout).toMatch(/^released +catalog +was r2-uuid:9/);
    expect(done.stdout).toContain(`${first} holds it as before`);
    expect(done.code).toBe(0);
    expect(await stage.raw.hgetall('catalog')).toEqual({ mode: 'read', [first]: '1' });
    const again = await stage.release('catalog', ...named, ...consent);
    expect(again.code).toBe(6);
    expect(again.stderr).toContain(`${second} does not hold it`);
  });
});

describe('waiting for the expiry instead', () => {
  test('ends with 0 when the lease has run out, and deletes nothing', async () => {
    await stage.raw.set('lock:job', token, 'PX', 6_000);
    const refill = setInterval(() => void stage.raw.pexpire('lock:job', 6_000), 100);
    const waiting = stage.release('lock:job', '--wait-expiry');
    await until('it looks at the lock', async () =>
      String(await stage.raw.client('LIST')).includes('name=fencepost-'),
    );
    clearInterval(refill);
    const waited = await waiting;
    expect(waited.code).toBe(0);
    expect(waited.stdout).toContain('ended by itself');
    expect(waited.stdout).toContain('nothing was deleted');
  });

  test('exits 5 for a lease that has no end', async () => {
    await stage.raw.set('lock:job', token);
    const waited = await stage.release('lock:job', '--wait-expiry');
    expect(waited.code).toBe(5);
    expect(waited.stderr).toContain('will not free itself');
  });
});
