/** python-etcd3's Lock, seen and released by force while another process waits in the library. */
import { expect, test } from 'vitest';
import { useLab } from '../../helpers/servers.ts';
import { useClients } from './client-program.ts';
import { untilWatched } from './etcd-watchers.ts';
import { handOver } from './hand-over.ts';
import { useOperator } from './operator.ts';
import { pythonClient } from './python.ts';

const lab = useLab({ system: 'etcd' });
const operator = useOperator(lab);
const start = useClients();
/** The library puts its locks below this prefix. */
const name = '/locks/nightly';

test('a lock of python-etcd3 is read, released, and taken by the one that watches it', async () => {
  const library = { module: 'etcd3', debian: 'python3-etcd3', pypi: 'etcd3' };
  const port = lab.lab.servers[0]?.port ?? 0;
  const command = pythonClient(library, 'python-etcd3-lock.py', [String(port), 'nightly']);
  const owner = await start(command).says('holds ');
  const waiter = start(command);
  await waiter.says('asks');
  await untilWatched(port, 1);

  const lock = await operator.look(name);
  expect(lock).toMatchObject({
    state: 'held',
    mode: 'exclusive',
    recognition: { convention: 'python-etcd3', candidates: [] },
    holders: { kind: 'known', value: [{ owner, holds: 1 }] },
    waiters: { kind: 'unknown' },
    fence: { kind: 'token', source: 'create-revision' },
    lease: { kind: 'ttl', grantedMs: { kind: 'known', value: 60_000 } },
  });
  expect(lock.lease.kind === 'ttl' && lock.lease.ttlMs).toBeGreaterThan(30_000);

  const { done, next } = await handOver(operator, lock, { waiter, record: name });
  expect(next).not.toBe(owner);
  expect(done).toMatchObject({
    outcome: 'taken-over-by',
    verification: { outcome: 'taken-over', owner: next, higherFence: 'yes' },
  });
});
