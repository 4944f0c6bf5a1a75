/** The lock of a BullMQ job, whose worker is stopped, released by force: another worker gets the job. */
import { expect, test } from 'vitest';
import { redisPort } from '../../helpers/redis.ts';
import { useLab } from '../../helpers/servers.ts';
import { nodeClient, useClients } from './client-program.ts';
import { handOver } from './hand-over.ts';
import { useOperator } from './operator.ts';

const lab = useLab({ system: 'redis' });
const operator = useOperator(lab);
const start = useClients();
const name = 'bull:mails:welcome-7:lock';

test('a lock of a bullmq job is read, released, and the job goes to the next worker', async () => {
  const command = (...job: string[]) =>
    nodeClient('bullmq-worker.mjs', [String(redisPort(lab)), 'mails', ...job]);
  const holder = start(command('welcome-7'));
  const owner = await holder.says('holds ');
  process.kill(holder.pid, 'SIGSTOP');
  const waiter = start(command());
  await waiter.says('asks');

  const lock = await operator.look(name);
  expect(lock).toMatchObject({
    state: 'held',
    mode: 'exclusive',
    recognition: { convention: 'bullmq', confidence: 'high', candidates: [] },
    holders: { kind: 'known', value: [{ owner, holds: 1 }] },
    waiters: { kind: 'exact', list: [] },
    fence: { kind: 'none' },
    notes: [{ code: 'worker', text: `the job names its worker: worker-${holder.pid}` }],
  });
  const leftMs = lock.lease.kind === 'ttl' ? lock.lease.ttlMs : 0;
  expect(leftMs).toBeGreaterThan(30_000);
  expect(leftMs).toBeLessThanOrEqual(60_000);

  const { done, next } = await handOver(operator, lock, { waiter, record: name });
  expect(next).not.toBe(owner);
  expect(done).toMatchObject({
    outcome: 'taken-over-by',
    verification: { outcome: 'taken-over', owner: next },
  });
});
