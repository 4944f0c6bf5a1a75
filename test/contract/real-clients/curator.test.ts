/** Apache Curator's locks, seen and released by force while another process waits in the library. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';
import { clientDeadlineMs, useClients, type Client, type ClientCommand } from './client-program.ts';
import { handOver } from './hand-over.ts';
import { compileCuratorClient } from './java.ts';
import { useOperator } from './operator.ts';

const lab = useLab({ system: 'zookeeper' });
const operator = useOperator(lab);
const start = useClients();
let folder = '';
let curator: (...args: readonly string[]) => ClientCommand;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fencepost-curator-'));
  curator = compileCuratorClient('CuratorLock', folder);
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

function take(kind: string, name: string): Client {
  return start(curator(String(lab.lab.servers[0]?.port), kind, name));
}

const session = { kind: 'session', timeoutMs: { kind: 'known', value: 10_000 } };

test.each([
  { kinds: ['mutex', 'mutex'], convention: 'curator-mutex', mode: 'exclusive' },
  { kinds: ['read', 'write'], convention: 'curator-read-write', mode: 'shared' },
])(
  'a $convention lock of Curator is read with its queue, released, and taken by the one that watches it',
  async ({ kinds: [first = '', second = ''], convention, mode }) => {
    const name = `/jobs/${first}`;
    const record = await take(first, name).says('holds ');
    const waiter = take(second, name);
    const lock = await until(
      'the second client watches the first',
      async () => {
        const seen = await operator.look(name);
        const [waits] = seen.waiters.kind === 'exact' ? seen.waiters.list : [];
        return waits?.watches?.kind === 'known' && waits.watches.value === record
          ? seen
          : undefined;
      },
      clientDeadlineMs,
    );
    const [holder] = lock.holders.kind === 'known' ? lock.holders.value : [];
    expect(lock).toMatchObject({
      state: 'held',
      mode,
      recognition: { convention, confidence: 'high', candidates: [] },
      // Unless the application chose otherwise, each client writes the address of its machine.
      holders: { value: [{ owner: expect.stringMatching(/^[\d.:a-f]+$/) as string, record }] },
      waiters: { kind: 'exact', list: [{ position: 1, owner: holder?.owner, lease: session }] },
      fence: { kind: 'token', source: 'czxid' },
    });
    expect(holder).toMatchObject({ holds: 1, lease: session });

    const { done, next } = await handOver(operator, lock, { waiter, record: `${name}/${record}` });
    expect(lock.waiters).toMatchObject({ list: [{ record: next }] });
    // Both wrote the same address: only the fence tells that it is another grant.
    expect(done).toMatchObject({
      outcome: 'taken-over-by',
      verification: { outcome: 'taken-over', owner: holder?.owner, higherFence: 'yes' },
    });
  },
);

test('a semaphore of Curator is read with the one that waits for its permit, which gets it', async () => {
  const name = '/jobs/permits';
  const record = await take('semaphore', name).says('holds ');
  const waiter = take('semaphore', name);
  // It waits with its permit's node made already.
  const lock = await until(
    'the second client waits for a permit',
    async () => {
      const seen = await operator.look(name);
      const [waits] = seen.waiters.kind === 'exact' ? seen.waiters.list : [];
      return waits?.note?.includes('-lease-') === true ? seen : undefined;
    },
    clientDeadlineMs,
  );
  expect(lock).toMatchObject({
    state: 'held',
    mode: 'semaphore',
    recognition: { convention: 'curator-semaphore', confidence: 'high' },
    holders: { kind: 'known', value: [{ record, holds: 1, lease: session }] },
    // What it watches are the children, and no server tells of those watches.
    waiters: { kind: 'exact', list: [{ position: 1, watches: { kind: 'unknown' } }] },
    helpers: [`${name}/locks`],
  });
  expect(lock.holders).toMatchObject({ value: { length: 1 } });

  const { done, next } = await handOver(operator, lock, {
    waiter,
    record: `${name}/leases/${record}`,
  });
  expect(lock.waiters).toMatchObject({ list: [{ note: `waits with ${next}` }] });
  expect(done).toMatchObject({ outcome: 'taken-over-by', result: { outcome: 'released' } });
});
