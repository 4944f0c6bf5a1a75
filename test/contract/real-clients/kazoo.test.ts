/** kazoo's Lock, seen and released by force while another process waits for it in the library. */
import { expect, test } from 'vitest';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';
import { useClients, type ClientCommand } from './client-program.ts';
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
  const lock = await until('the second client watches the first', async () => {
    const seen = await operator.look(name);
    const [first] = seen.waiters.kind === 'exact' ? seen.waiters.list : [];
    return first?.watches?.kind === 'known' && first.watches.value === record ? seen : undefined;
  });
  const session = { kind: 'session', timeoutMs: { kind: 'known', value: 10_000 } };
  expect(lock).toMatchObject({
    state: 'held',
    mode: 'exclusive',
    recognition: { convention: 'kazoo-lock', confidence: 'high', candidates: [] },
    holders: { kind: 'known', value: [{ owner: 'worker-a', record, holds: 1, lease: session }] },
    waiters: { kind: 'exact', list: [{ position: 1, owner: 'worker-b', lease: session }] },
    fence: { kind: 'token', source: 'czxid' },
  });

  const plan = await operator.plan(lock);
  expect(plan.refusedBy).toEqual(['no-renewal', 'owner-connection']);
  // The server itself tells who watches: only the holder's node goes, and nothing is sent.
  expect(plan.preview).toMatchObject({
    deletes: [{ record: `${name}/${record}` }],
    wakes: [],
    next: { kind: 'known', value: { owner: 'worker-b' } },
  });
  expect(waiter.said()).toEqual(['asks']);

  const done = await operator.execute(lock, plan.refusedBy);
  expect(done).toMatchObject({
    outcome: 'taken-over-by',
    result: { outcome: 'released' },
    verification: { outcome: 'taken-over', owner: 'worker-b', higherFence: 'yes' },
  });
  const next = await waiter.says('holds ');
  expect(lock.waiters).toMatchObject({ list: [{ record: next }] });
});
