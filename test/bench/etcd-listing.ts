/** `ls` over etcd with many contenders, beside etcdctl reading the names of the same keys. */
import { dirname, join } from 'node:path';
import { Etcd3 } from 'etcd3';
import { findEtcd } from '../../src/lab/programs.ts';
import { compare, type Bench } from './bench.ts';
import { fencepost, measure, type ProgramRun } from './child.ts';
import { withLab } from './lab.ts';

/** Sessions that hold and wait for many locks each. */
const leases = 1000;
/** Puts in one transaction; etcd takes 128. */
const batch = 100;

export const etcdListing: Bench = {
  name: 'etcd',
  about: 'ls over 100,000 etcd keys of 1,000 sessions, beside etcdctl get --prefix --keys-only',
  run: ({ sizes, runs, tell }) =>
    withLab('etcd', async ({ target }, port) => {
      const locks = Math.ceil(sizes.etcdKeys / 2);
      tell(`etcd: writing ${locks * 2} keys`);
      await fill(port, locks);
      const list = (args: readonly string[]): (() => ReturnType<typeof measure>) => {
        return () => measure(fencepost(['ls', 'bench/*', '--target', target, ...args], locks));
      };
      const goal = { ratio: 1.5, peakMib: 150 };
      return compare(
        'etcd',
        { name: 'etcdctl get --keys-only', measure: () => measure(etcdctl(port, locks * 2)) },
        [
          { name: 'ls -o name', goal, measure: list(['-o', 'name']) },
          { name: 'ls (table)', goal, measure: list([]) },
          { name: 'ls -o jsonl', goal: { peakMib: 150 }, measure: list(['-o', 'jsonl']) },
        ],
        { runs, tell },
      );
    }),
};

/** Two contenders for each lock, in the layout of Go's concurrency package. */
async function fill(port: number, locks: number): Promise<void> {
  const client = new Etcd3({ hosts: `127.0.0.1:${port}` });
  try {
    const ids: string[] = [];
    for (let n = 0; n < leases; n += 1) {
      ids.push((await client.leaseClient.leaseGrant({ TTL: 86_400, ID: String(n + 0x10000) })).ID);
    }
    for (let n = 0; n < locks; n += batch / 2) {
      const puts = [];
      for (let lock = n; lock < Math.min(locks, n + batch / 2); lock += 1) {
        for (const lease of [ids[lock % leases], ids[(lock * 7 + 1) % leases]]) {
          const name = `bench/lock-${lock}/${BigInt(lease ?? 0).toString(16)}`;
          const value = Buffer.from(`host-${lock % leases}`);
          puts.push({
            request_put: { key: Buffer.from(name), value, ...(lease && { lease }) },
          });
        }
      }
      await client.kv.txn({ compare: [], success: puts, failure: [] });
    }
  } finally {
    client.close();
  }
}

function etcdctl(port: number, leastLines: number): ProgramRun {
  const server = findEtcd(process.env);
  if (server === undefined) throw new Error('etcd is not installed');
  return {
    file: join(dirname(server.file), 'etcdctl'),
    args: ['--endpoints', `127.0.0.1:${port}`, 'get', '--prefix', '--keys-only', 'bench/'],
    env: { ...server.env, ETCDCTL_API: '3' },
    leastLines,
  };
}
