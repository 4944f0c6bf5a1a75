import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openResourceProxy, openServiceProxies } from '../../src/chaos/open-proxy.ts';
import type { WorkerProxy } from '../../src/chaos/proxy.ts';
import { createWorkerPool } from '../../src/chaos/worker-pool.ts';
import type { InitMessage, OpMessage, WorkerMessage } from '../../src/chaos/worker-protocol.ts';
import type { WorkerHandle } from '../../src/chaos/worker.ts';
import { parseTarget } from '../../src/domain/target.ts';
import { openProcessReader } from '../../src/processes/process-evidence.ts';
import type { LockObserver } from '../../src/protocols/protocol.ts';
import { redisFenced } from '../../src/protocols/redis-fenced.ts';
import { startResourceServer } from '../../src/resources/resource-server.ts';
import type { ResourceServer } from '../../src/resources/resource.ts';
import { useLab } from '../helpers/servers.ts';
import { until } from '../helpers/until.ts';

const leaseMs = 600;
const readyTimeoutMs = 10_000;

interface Player {
  readonly worker: WorkerHandle;
  readonly service: WorkerProxy;
  readonly resource: WorkerProxy;
  readonly heard: WorkerMessage[];
}

describe('the default worker', () => {
  const lab = useLab({ system: 'redis' });
  const pool = createWorkerPool();
  const proxies: WorkerProxy[] = [];
  let folder = '';
  let lock = '';
  let resource: ResourceServer;
  let observer: LockObserver;
  let operations = 0;

  const play = async (id: string, more: Partial<InitMessage> = {}): Promise<Player> => {
    const target = parseTarget(lab.target);
    const service = await openServiceProxies(id, target, redisFenced.wire, 0n);
    const resourceProxy = await openResourceProxy(id, resource.endpoint, 0n);
    proxies.push(...service.proxies, resourceProxy);
    const init: InitMessage = {
      type: 'init',
      version: 1,
      workerId: id,
      protocol: 'fenced',
      service: service.url,
      clientName: `fencepost-test-${id}`,
      resource: resourceProxy.endpoint,
      mutation: null,
      lock,
      leaseMs,
      renewEveryMs: null,
      requestTimeoutMs: 800,
      heartbeatEveryMs: 50,
      seed: 's',
      ...more,
    };
    const worker = await pool.start(init, {}, readyTimeoutMs);
    const heard: WorkerMessage[] = [];
    worker.onMessage(({ message }) => heard.push(message));
    const [first] = service.proxies;
    if (first === undefined) throw new Error('no proxy');
    return { worker, service: first, resource: resourceProxy, heard };
  };
  const id = (): string => `op-${(operations += 1)}`;
  const acquire = (owner: string, more: { waitMs?: number; park?: OpMessage['park'] } = {}) =>
    ({ type: 'op', id: id(), action: 'acquire', owner, waitMs: 0, ...more }) satisfies OpMessage;
  const plain = (action: 'renew' | 'release') =>
    ({ type: 'op', id: id(), action }) satisfies OpMessage;
  const close = (park?: OpMessage['park']) =>
    ({
      type: 'op',
      id: id(),
      action: 'business',
      business: 'close-order',
      subject: 'o-42',
      operationId: 'close-order/o-42',
      attempt: 1,
      ...(park === undefined ? {} : { park }),
    }) satisfies OpMessage;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fencepost-worker-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  beforeEach(async () => {
    const run = randomBytes(5).toString('hex');
    lock = `fp-test-${run}/o-42`;
    const target = parseTarget(lab.target);
    observer = await redisFenced.observe({ target, requestTimeoutMs: 2000, clientName: 'obs' });
    resource = await startResourceServer({
      accept: 'greater-or-equal',
      url: undefined,
      folder,
      run,
    });
  });
  afterEach(async () => {
    await pool.close();
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
    await resource.stop();
    await observer.close();
  });

  test('paused while parked, it wakes after a takeover and its write is refused as stale', async () => {
    const [a, b] = [await play('A'), await play('B')];
    expect(await a.worker.send(acquire('owner-a'))).toMatchObject({ outcome: 'ok', fence: '1' });
    const write = close('before-send');
    const late = a.worker.send(write);
    expect(await a.worker.parked(write.id)).toMatchObject({ point: 'before-send' });
    await observer.state(lock);

    expect(await a.worker.signal('SIGSTOP')).toBe(true);
    const reader = openProcessReader();
    await until('all of it is stopped', async () =>
      (await reader.readGroup(a.worker.group.pid)).every(({ state }) => state === 'T'),
    );
    const silentSince = a.worker.lastHeartbeat?.message.seq;
    await until('its lease ends', async () => (await observer.state(lock)).kind === 'absent');
    expect(
      await observer.end(lock, (await observer.grants(lock))[0]?.owner ?? fail()),
    ).toMatchObject({ cause: 'expired' });
    expect(await b.worker.send(acquire('owner-b'))).toMatchObject({ outcome: 'ok', fence: '2' });
    expect(await b.worker.send(close())).toMatchObject({ outcome: 'ok', accepted: true });
    expect(a.worker.lastHeartbeat?.message.seq).toBe(silentSince);

    expect(await a.worker.signal('SIGCONT')).toBe(true);
    a.worker.go(write.id);
    expect(await late).toMatchObject({ outcome: 'fail', accepted: false, code: 'stale-token' });
    expect(await a.worker.send(plain('release'))).toMatchObject({
      outcome: 'fail',
      code: 'not-owner',
    });
    expect(await observer.state(lock)).toMatchObject({ kind: 'held', owner: 'owner-b' });
    const rows = await resource.ledger();
    expect(rows.map((row) => [row.owner, row.fence, row.code])).toEqual([
      ['owner-b', 2n, 'accepted'],
      ['owner-a', 1n, 'stale-token'],
    ]);
    expect(a.worker.problems()).toEqual([]);
  });

  test('renews by its own timer, reports each renewal, and tells when it lost the lock', async () => {
    const a = await play('A', { renewEveryMs: 150 });
    await a.worker.send(acquire('owner-a'));
    const renewals = () =>
      a.heard.filter((message) => message.type === 'result' && message.automatic);
    await until('it has renewed past its lease', () => renewals().length >= 6);
    expect(await observer.state(lock)).toMatchObject({ kind: 'held', owner: 'owner-a' });
    expect(renewals()[0]).toMatchObject({ action: 'renew', outcome: 'ok', fence: '1' });
    await observer.cleanUp(lock);
    await until('it tells', () => a.heard.some((message) => message.type === 'lost'));
  });

  test('a lost reply of the resource is unknown to it, and in the ledger as accepted', async () => {
    const a = await play('A');
    await a.worker.send(acquire('owner-a'));
    const armed = a.resource.arm({ what: 'reply', action: 'write', nth: 1 });
    const first = close();
    expect(await a.worker.send(first)).toMatchObject({ outcome: 'unknown', code: 'timeout' });
    expect((await armed.hit)?.replyBytesReceived).toBeGreaterThan(0);
    expect(await resource.ledger()).toMatchObject([
      { accepted: true, requestId: `${first.id}/close-order` },
    ]);
    // The retry is an operation of its own; the operation id makes it one effect.
    expect(await a.worker.send(close())).toMatchObject({
      outcome: 'ok',
      code: 'duplicate',
      replayed: true,
      version: '1',
    });
  });

  test('a lost acquire reply is unknown, and a confirm with the same owner gets the grant', async () => {
    const a = await play('A');
    const armed = a.service.arm({ what: 'reply', action: 'acquire', nth: 1 });
    expect(await a.worker.send(acquire('owner-a'))).toMatchObject({ outcome: 'unknown' });
    expect(await armed.hit).toBeDefined();
    const again = { ...acquire('owner-b'), owner: 'owner-b', waitMs: 5000 } as const;
    expect(await a.worker.send(again)).toMatchObject({ outcome: 'ok', fence: '2' });
    const confirm = { ...acquire('owner-b'), action: 'confirm' } as const;
    expect(await a.worker.send(confirm)).toMatchObject({ outcome: 'ok', fence: '2' });
  });

  test('says when it parked, stamps inside the caller’s clock, and sends nothing before go', async () => {
    const a = await play('A');
    const clock = await a.worker.checkClock(2000);
    expect(clock.shared).toBe(true);
    const op = acquire('owner-a', { park: 'after-acquire' });
    const sentNs = process.hrtime.bigint();
    const result = a.worker.send(op);
    expect(await a.worker.parked(op.id)).toMatchObject({ point: 'after-acquire' });
    expect(await observer.state(lock)).toMatchObject({ kind: 'held' });
    a.worker.go(op.id);
    const { invokedAtNs, completedAtNs } = await result;
    expect(BigInt(invokedAtNs)).toBeGreaterThan(sentNs);
    expect(BigInt(completedAtNs)).toBeGreaterThan(BigInt(invokedAtNs));
    expect(a.heard.map((message) => message.type)).toContain('invoked');
  });

  test('an effect parks between its invocation and its completion', async () => {
    const a = await play('A');
    await a.worker.send(acquire('owner-a'));
    const mail = { ...close('inside-effect'), business: 'effect', subject: 'mail' } as const;
    const result = a.worker.send(mail);
    await a.worker.parked(mail.id);
    const open = 'SELECT count(*) AS n FROM effects WHERE completed_seq IS NULL';
    expect(await resource.query(open)).toEqual([{ n: '1' }]);
    a.worker.go(mail.id);
    expect(await result).toMatchObject({ outcome: 'ok', accepted: true });
    expect(await resource.query(open)).toEqual([{ n: '0' }]);
  });

  test('told to check itself, it sends nothing past its deadline', async () => {
    const a = await play('A');
    await a.worker.send(acquire('owner-a'));
    await until('its lease ends', async () => (await observer.state(lock)).kind === 'absent');
    expect(await a.worker.send({ ...close(), selfCheck: true })).toMatchObject({
      outcome: 'fail',
      code: 'self-check',
    });
    expect(await resource.ledger()).toEqual([]);
  });

  test('killed in the middle of an operation, that operation is unknown', async () => {
    const a = await play('A');
    await a.worker.send(acquire('owner-a'));
    const write = close('before-send');
    const result = a.worker.send(write);
    await a.worker.parked(write.id);
    await a.worker.signal('SIGKILL');
    expect(await result).toMatchObject({ outcome: 'unknown', code: 'worker-exited' });
    expect(await a.worker.exit).toMatchObject({ signal: 'SIGKILL' });
    expect(await a.worker.send(plain('release'))).toMatchObject({ code: 'worker-exited' });
    expect(await a.worker.signal('SIGCONT')).toBe(false);
  });

  test('closing ends a stopped worker without resuming it, and its lock stays', async () => {
    const a = await play('A');
    await a.worker.send(acquire('owner-a'));
    await a.worker.signal('SIGSTOP');
    expect(await a.worker.close(100)).toMatchObject({ signal: 'SIGKILL' });
    expect(await openProcessReader().readGroup(a.worker.group.pid)).toEqual([]);
  });

  test('a mutation it cannot run as, and a server it cannot reach, end it with the reason', async () => {
    await expect(play('A', { mutation: 'no-such-variant' })).rejects.toMatchObject({
      code: 'worker-not-ready',
      hint: expect.stringContaining('no variant "no-such-variant"') as string,
    });
    await expect(play('B', { service: 'redis://127.0.0.1:1' })).rejects.toMatchObject({
      hint: expect.stringContaining('ECONNREFUSED') as string,
    });
  });
});

describe('a worker that is not ours', () => {
  const pool = createWorkerPool();
  afterAll(() => pool.close());
  const init = {
    type: 'init',
    version: 1,
    workerId: 'X',
    protocol: 'fenced',
    service: 'redis://127.0.0.1:1',
    clientName: 'fencepost-test-X',
    resource: { host: '127.0.0.1', port: 1 },
    mutation: null,
    lock: 'l',
    leaseMs: 1000,
    renewEveryMs: null,
    requestTimeoutMs: 500,
    heartbeatEveryMs: 100,
    seed: 's',
  } as const satisfies InitMessage;
  const ready = `{"type":"ready","version":1,"workerId":"X","pid":1,"honours":[]}`;
  const shell = (script: string) => ({ argv: ['sh', '-c', script] as const });

  test('that prints something else on stdout is caught, and its operation is unknown', async () => {
    const script = `echo '${ready}'; read init; read op; echo 'debug: hello'; cat >/dev/null`;
    const worker = await pool.start(init, shell(script), readyTimeoutMs);
    const op = { type: 'op', id: '1', action: 'release' } as const;
    expect(await worker.send(op)).toMatchObject({ outcome: 'unknown', code: 'worker-protocol' });
    expect(worker.problems()[0]?.message).toContain('debug: hello');
  });

  test('that ends before it is ready is reported with its last words', async () => {
    const script = `printf 'cannot \\033[31mconnect\\n' >&2; exit 3`;
    await expect(pool.start(init, shell(script), readyTimeoutMs)).rejects.toMatchObject({
      code: 'worker-not-ready',
      hint: expect.stringMatching(/cannot \\x1b\[31mconnect/) as string,
    });
  });

  test('that leaves a helper behind takes it along when it ends', async () => {
    const script = `sleep 60 & echo '${ready}'; cat >/dev/null`;
    const worker = await pool.start(init, shell(script), readyTimeoutMs);
    await worker.close(5000);
    await until(
      'its group is gone',
      async () => (await openProcessReader().readGroup(worker.group.pid)).length === 0,
    );
  });

  test('whose program does not exist is refused with its name', async () => {
    await expect(pool.start(init, { argv: ['/no/such/worker'] }, 1000)).rejects.toMatchObject({
      code: 'worker-not-started',
    });
  });
});

function fail(): never {
  throw new Error('the service shows no grant');
}
