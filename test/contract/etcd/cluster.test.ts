/** A cluster of three: a member down, no quorum, a new leader while a lease is watched. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Etcd3 } from 'etcd3';
import type { Backend } from '../../../src/backends/backend.ts';
import { FencepostError } from '../../../src/domain/errors.ts';
import { valueOf } from '../../../src/domain/known.ts';
import type { LockDetail } from '../../../src/domain/lock.ts';
import { parseText } from '../../../src/domain/text.ts';
import { postJson } from '../../../src/lab/wire.ts';
import { fencepost } from '../../helpers/fencepost.ts';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';
import { collect, everyLock, forever } from '../backend/subject.ts';
import { countingRelay } from './etcd-relay.ts';
import { enter, openTarget, rawEtcd, valueAt, type EtcdGrant } from './etcd-seeder.ts';

const lab = useLab({ system: 'etcd', members: 3 });
const name = parseText('/jobs/lock');
let held: EtcdGrant;
let raw: Etcd3;
let backend: Backend;

beforeAll(() => {
  raw = rawEtcd(lab.target);
});
beforeEach(async () => {
  await raw.delete().all();
  held = await enter(raw, name, 'a', 300);
  backend = await openTarget(lab.target);
});
afterEach(async () => {
  await backend.close();
  await restartAll();
});
afterAll(() => {
  raw.close();
});

/** Starts whatever was killed. */
async function restartAll(): Promise<void> {
  for (const { name: server } of lab.lab.servers) {
    await lab.lab.start(server).catch((error: unknown) => {
      if (!(error instanceof FencepostError) || error.code !== 'lab-server-runs') throw error;
    });
  }
}

async function look(): Promise<LockDetail> {
  const seen = await backend.inspect({ name }, forever);
  if (seen === undefined) throw new Error(`${name} is not there`);
  return seen;
}

/** The member at which the adapter asks. */
async function memberInUse(): Promise<string> {
  const { endpoint } = (await look()).server;
  const server = lab.lab.servers.find(({ port }) => endpoint.endsWith(`:${port}`));
  if (server === undefined) throw new Error(`${endpoint} is no member`);
  return server.name;
}

describe('with one member of three down', () => {
  test('the others answer, and the probe names the one that does not', async () => {
    const gone = await memberInUse();
    await lab.lab.kill(gone);
    const rows = await collect(backend.list(everyLock, forever).locks);
    expect(rows.map((row) => row.ref.name)).toEqual([name]);
    const port = lab.lab.servers.find((one) => one.name === gone)?.port ?? 0;
    const probe = await until('a leader is there', async () => {
      const told = await backend.probe(forever);
      return told.topology.kind === 'partial' && told;
    });
    expect(JSON.stringify(probe.topology)).toContain(`127.0.0.1:${port} did not answer`);
    expect(valueOf(probe.healthy)).toMatchObject({
      can: false,
      reason: `127.0.0.1:${port} does not answer`,
    });
  });

  test('a release goes to a living member', async () => {
    const seen = await look();
    await lab.lab.kill(await memberInUse());
    const result = await backend.release(seen, { timeoutMs: 5_000 }, forever);
    expect(result.outcome).toBe('released');
    expect(await valueAt(raw, held.key)).toBeUndefined();
  });
});

describe('a new leader while a lease is watched', () => {
  test('what was seen across it is discarded, and it is said why', async () => {
    const seen = await look();
    let moved: Promise<void> | undefined;
    const sample = await backend.sample(seen, 10_000, forever, () => {
      moved ??= moveLeader();
    });
    await moved;
    expect(sample).toMatchObject({
      outcome: 'discarded',
      renewals: { kind: 'unknown' },
      note: expect.stringMatching(/leader changed \(raft term \d+ → raft term \d+\)/) as unknown,
    });
    expect(sample.windowMs).toBeLessThan(10_000);
  });
});

describe('without a quorum', () => {
  async function keepOnly(server: string): Promise<void> {
    const others = lab.lab.servers.filter((one) => one.name !== server);
    await Promise.all(others.map((one) => lab.lab.kill(one.name)));
  }

  test('reading and releasing end with a sentence and exit code 4, and in time', async () => {
    const seen = await look();
    await keepOnly(await memberInUse());
    const noLeader = {
      code: 'no-leader',
      exitCode: 4,
      message: expect.stringMatching(/has no leader: .*sees no leader/) as unknown,
    };
    const started = performance.now();
    await expect(collect(backend.list(everyLock, forever).locks)).rejects.toMatchObject(noLeader);
    const release = backend.release(seen, { timeoutMs: 3_000 }, forever);
    await expect(release).rejects.toMatchObject({ ...noLeader, definite: true });
    // One request that the member took while it still believed in its leader, and one way round;
    // far from hanging, also on a busy machine.
    expect(performance.now() - started).toBeLessThan(20_000);
    const ran = await fencepost(['ls', '--target', lab.target]);
    expect([ran.code, ran.stdout]).toEqual([4, '']);
    expect(ran.stderr).toContain('has no leader');
  });

  test('a transaction that the last member took and could not decide is unknown', async () => {
    const [member] = lab.lab.servers;
    const relay = await countingRelay(`etcd://127.0.0.1:${member?.port ?? 0}`);
    const through = await openTarget(relay.url);
    try {
      const seen = await look();
      relay.before('Txn', () => keepOnly(member?.name ?? ''));
      const result = await through.release(seen, { timeoutMs: 2_000 }, forever);
      expect(result).toMatchObject({
        outcome: 'unknown',
        reason: expect.stringMatching(/reply was lost, and the key could not be read/) as unknown,
      });
      expect(relay.count('Txn')).toBe(1);
      await restartAll();
      // Whichever it was: with the quorum back it is decided, and a look tells.
      expect([undefined, 'a']).toContain(await valueAt(raw, held.key));
    } finally {
      await through.close();
      await relay.close();
    }
  });
});

/** Makes another member the leader. */
async function moveLeader(): Promise<void> {
  const [first] = lab.lab.servers;
  const { body } = await postJson(first?.port ?? 0, '/v3/maintenance/status', {}, undefined);
  const leader = /"leader":"(\d+)"/.exec(body)?.[1];
  const { members } = await raw.cluster.memberList({});
  const next = members.find(({ ID }) => ID !== leader);
  for (const { port } of lab.lab.servers) {
    const request = { targetID: next?.ID };
    const path = '/v3/maintenance/transfer-leadership';
    if ((await postJson(port, path, request, undefined)).status === 200) return;
  }
  throw new Error('no member moved the leadership');
}
