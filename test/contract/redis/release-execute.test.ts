/** What happens to a release on its way: interrupted, its reply lost, its record gone. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Backend } from '../../../src/backends/backend.ts';
import { parseTarget } from '../../../src/domain/target.ts';
import { parseText } from '../../../src/domain/text.ts';
import { AuditLog } from '../../../src/release/audit-log.ts';
import { executeRelease, type ReleaseReport } from '../../../src/release/execute.ts';
import { parseOverrides } from '../../../src/release/overrides.ts';
import { planRelease, type ReleasePlan } from '../../../src/release/plan.ts';
import { useLab } from '../../helpers/servers.ts';
import { relay } from '../../helpers/tcp.ts';
import { openTarget, rawRedis } from './redis-seeder.ts';

const lab = useLab({ system: 'redis' });
const token = '9f31c0aa55e2417d8b3c7e10d2f4a6b8';
let raw: Redis;
let folder = '';
let file = '';

beforeAll(() => {
  raw = rawRedis(lab.target);
});
beforeEach(async () => {
  await raw.set('lock:job', token);
  folder = await mkdtemp(join(tmpdir(), 'fencepost-execute-'));
  file = join(folder, 'state', 'releases.jsonl');
});
afterEach(() => rm(folder, { recursive: true, force: true }));
afterAll(() => {
  raw.disconnect();
});

const never = new AbortController().signal;

async function plan(backend: Backend, log: AuditLog): Promise<ReleasePlan> {
  const made = await planRelease(
    backend,
    {
      ref: { name: parseText('lock:job') },
      execute: true,
      expect: undefined,
      interactive: true,
      confirm: undefined,
      reason: undefined,
      holdMs: undefined,
      holdOwner: parseText('operator'),
      endSession: false,
      fenceFloor: undefined,
      notify: undefined,
      observe: 'off',
      overrides: parseOverrides(['owner-connection=test', 'no-renewal=test']),
      soonMs: 10_000,
    },
    log,
    never,
  );
  expect(made.refusedBy).toEqual([]);
  return made;
}

/** Plans, then executes by `altered`: the same adapter with one method changed. */
async function execute(
  backend: Backend,
  altered: Partial<Backend>,
  signal: AbortSignal = never,
): Promise<ReleaseReport> {
  const log = await AuditLog.open(file);
  const made = await plan(backend, log);
  const options = {
    operator: { user: 'me', host: 'here' },
    timeoutMs: 500,
    verifyMs: 200,
    notifyMs: 20_000,
  };
  return executeRelease({ ...backend, ...altered }, made, log, options, signal);
}

async function outcomes(): Promise<readonly string[]> {
  const rows = (await readFile(file, 'utf8')).trimEnd().split('\n');
  return rows.map((row) => /"outcome":"([a-z-]+)"/.exec(row)?.[1] ?? 'intent');
}

async function withBackend(url: string, use: (backend: Backend) => Promise<void>): Promise<void> {
  const backend = await openTarget(url);
  try {
    await use(backend);
  } finally {
    await backend.close();
  }
}

describe('executing a release', () => {
  test('an interruption between the record and the write touches nothing, and is recorded', async () => {
    await withBackend(lab.target, async (backend) => {
      const abort = new AbortController();
      const interrupting: Backend['release'] = (seen, how, signal) => {
        abort.abort('SIGINT');
        return backend.release(seen, how, signal);
      };
      const running = execute(backend, { release: interrupting }, abort.signal);
      await expect(running).rejects.toMatchObject({ exitCode: 130 });
      expect(await raw.get('lock:job')).toBe(token);
      expect(await outcomes()).toEqual(['intent', 'interrupted']);
    });
  });

  test('an interruption after the write ends the look, keeps the outcome, and is no success', async () => {
    await withBackend(lab.target, async (backend) => {
      const abort = new AbortController();
      const releasing: Backend['release'] = async (seen, how, signal) => {
        const result = await backend.release(seen, how, signal);
        abort.abort('SIGINT');
        return result;
      };
      const report = await execute(backend, { release: releasing }, abort.signal);
      expect(report).toMatchObject({ outcome: 'released', exitCode: 130 });
      expect(report.verification).toMatchObject({ outcome: 'unknown' });
      expect(await outcomes()).toEqual(['intent', 'released']);
    });
  });

  test('a lost reply that no look can settle is unknown, never success', async () => {
    const [{ port }] = parseTarget(lab.target).endpoints;
    const between = await relay(port, (bytes, controls) => {
      // The release script is the only request that names DEL.
      if (bytes.includes("'DEL'")) controls.swallowReplies();
    });
    try {
      await withBackend(`redis://127.0.0.1:${between.port}`, async (backend) => {
        const report = await execute(backend, {});
        expect(report).toMatchObject({ outcome: 'unknown', exitCode: 3 });
        expect(report.result.outcome === 'unknown' && report.result.reason).toContain(
          'the reply was lost',
        );
        expect(await outcomes()).toEqual(['intent', 'unknown']);
      });
    } finally {
      await between.stop();
    }
  });

  test('a log that fails after the write is told, and hides no outcome', async () => {
    await withBackend(lab.target, async (backend) => {
      const report = await execute(backend, {
        release: async (seen, how, signal) => {
          await rm(dirname(file), { recursive: true });
          return backend.release(seen, how, signal);
        },
      });
      expect(report).toMatchObject({ outcome: 'released', log: { kind: 'failed' } });
      expect(await raw.exists('lock:job')).toBe(0);
    });
  });

  test('a log that fails before the write refuses it', async () => {
    await withBackend(lab.target, async (backend) => {
      const report = await execute(backend, {
        // The last look before the record.
        inspect: async (ref, signal) => {
          await rm(dirname(file), { recursive: true });
          return backend.inspect(ref, signal);
        },
      });
      expect(report).toMatchObject({ outcome: 'refused', log: { kind: 'not-begun' }, exitCode: 5 });
      expect(await raw.get('lock:job')).toBe(token);
    });
  });

  test('a server that was restarted since the plan is another one', async () => {
    await withBackend(lab.target, async (backend) => {
      const report = await execute(backend, {
        probe: async (signal) => ({
          ...(await backend.probe(signal)),
          clusterId: { kind: 'known', value: 'another' },
        }),
      });
      expect(report).toMatchObject({ outcome: 'refused', log: { kind: 'not-begun' } });
      expect(await raw.get('lock:job')).toBe(token);
    });
  });
});
