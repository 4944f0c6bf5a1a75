/** kazoo's Lock, seen and released by force while another process waits for it in the library. */
import { expect, test } from 'vitest';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';
import { clientDeadlineMs, useClients, type ClientCommand } from './client-program.ts';
import { handOver } from './hand-over.ts';
import { useOperator } from './operator.ts';
import { pythonClient } from './python.ts';

const lab = useLab({ system: 'zookeeper' });
const operator = useOperator(lab);
const start = useClients();
const name = '/jobs/nightly';

function kazoo(owner: string): ClientCommand {
  const library = { module: 'kazoo', debian: 'python3-kazoo', pypi: 'kazoo' };
  const port = String(lab.lab.servers[0]?.port);
  return pythonClient(library, 'kazoo-lock.py', [port, name, owner]);
}

test('a lock of kazoo is read with its queue, released, and taken by the one that watches it', async () => {
  const record = await start(kazoo('worker-a')).says('holds ');
  const waiter = start(kazoo('worker-b'));
  const lock = await until(
    'the second client watches the first',
    async () => {
      const seen = await operator.look(name);
      const [first] = seen.waiters.kind === 'exact' ? seen.waiters.list : [];
      return first?.watches?.kind === 'known' && first.watches.value === record ? seen : undefined;
    },
    clientDeadlineMs,
  );
  const session = { kind: 'session', timeoutMs: { kind: 'known', value: 10_000 } };
  expect(lock).toMatchObject({
    state: 'held',
    mode: 'exclusive',
    recognition: { convention: 'kazoo-lock', confidence: 'high', candidates: [] },
    holders: { kind: 'known', value: [{ owner: 'worker-a', record, holds: 1, lease: session }] },
    waiters: { kind: 'exact', list: [{ position: 1, owner: 'worker-b', lease: session }] },
    fence: { kind: 'token', source: 'czxid' },
  });

  const { plan, done, next } = await handOver(operator, lock, {
    waiter,
    record: `${name}/${record}`,
  });
  expect(plan.preview).toMatchObject({ next: { kind: 'known', value: { owner: 'worker-b' } } });
  expect(done).toMatchObject({
    outcome: 'taken-over-by',
    verification: { outcome: 'taken-over', owner: 'worker-b', higherFence: 'yes' },
  });
  expect(lock.waiters).toMatchObject({ list: [{ record: next }] });
});
