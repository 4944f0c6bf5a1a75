/** `etcdctl lock` and `etcdctl elect`, seen and released by force while another etcdctl waits. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { findEtcd, findOnPath } from '../../../src/lab/programs.ts';
import { useLab } from '../../helpers/servers.ts';
import { useClients, type Client, type ClientCommand } from './client-program.ts';
import { untilWatched } from './etcd-watchers.ts';
import { handOver } from './hand-over.ts';
import { useOperator } from './operator.ts';

const lab = useLab({ system: 'etcd' });
const operator = useOperator(lab);
const start = useClients();

const port = (): number => lab.lab.servers[0]?.port ?? 0;

/** From PATH, or beside the server that `lab install` unpacked. @throws {Error} when it is missing */
function etcdctl(...args: readonly string[]): ClientCommand {
  const beside = join(dirname(findEtcd(process.env)?.file ?? ''), 'etcdctl');
  const file = findOnPath(process.env, 'etcdctl') ?? (existsSync(beside) ? beside : undefined);
  if (file === undefined) throw new Error('etcdctl is missing: run apt-get install etcd-client');
  const endpoint = `http://127.0.0.1:${port()}`;
  return { file, args: ['--endpoints', endpoint, ...args], env: { ETCDCTL_API: '3' } };
}

test.each([
  {
    verb: ['lock', '--ttl', '60'],
    name: 'jobs/nightly',
    convention: 'etcd-concurrency',
    values: [],
  },
  {
    verb: ['elect'],
    name: 'election/x',
    convention: 'etcd-election',
    values: ['candidate-1', 'candidate-2'],
  },
])(
  'etcdctl $verb.0 is read with its queue, released, and taken by the one that waits',
  async (of) => {
    const [first, second] = of.values;
    const take = (value: string | undefined): Client =>
      start(etcdctl(...of.verb, of.name, ...(value === undefined ? [] : [value])));
    const record = `${of.name}/${await take(first).says(`${of.name}/`)}`;
    const waiter = take(second);
    await untilWatched(port(), 1);

    const lock = await operator.look(of.name);
    const [waiting] = lock.waiters.kind === 'exact' ? lock.waiters.list : [];
    const grantedMs = { kind: 'known', value: 60_000 };
    expect(lock).toMatchObject({
      state: 'held',
      mode: 'exclusive',
      recognition: { convention: of.convention, confidence: 'high', candidates: [] },
      // Without a value of its own, a contender is called by its lease.
      holders: { kind: 'known', value: [{ owner: first ?? leaseOf(record), record, holds: 1 }] },
      lease: { kind: 'ttl', grantedMs, id: leaseOf(record) },
      fence: { kind: 'token', source: 'create-revision' },
    });
    expect(lock.lease.kind === 'ttl' && lock.lease.ttlMs).toBeGreaterThan(30_000);
    const next = second ?? leaseOf(waiting?.record ?? '');
    expect(lock.waiters).toMatchObject({
      list: [{ owner: next, lease: { kind: 'ttl', grantedMs } }],
    });

    const begins = `${of.name}/`;
    const { done, next: rest } = await handOver(operator, lock, { waiter, record, begins });
    expect(done).toMatchObject({
      outcome: 'taken-over-by',
      verification: { outcome: 'taken-over', owner: next, higherFence: 'yes' },
    });
    expect(begins + rest).toBe(waiting?.record);
  },
);

function leaseOf(record: string): string {
  return record.slice(record.lastIndexOf('/') + 1);
}
