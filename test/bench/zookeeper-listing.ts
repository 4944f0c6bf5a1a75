/** `ls` over a ZooKeeper full of lock queues, beside a bare walk of the same tree. */
import { once } from 'node:events';
import zooKeeper from 'node-zookeeper-client';
import { compare, type Bench } from './bench.ts';
import { fencepost, floor, measure } from './child.ts';
import { withLab } from './lab.ts';

const contenders = 3;
/** Locks written side by side. */
const writers = 100;

export const zooKeeperListing: Bench = {
  name: 'zookeeper',
  about: 'ls over 20,000 ZooKeeper locks with 3 contenders each, beside a bare walk',
  run: ({ sizes, runs, tell }) =>
    withLab('zookeeper', async ({ target }, port) => {
      const locks = sizes.zookeeperLocks;
      tell(`zookeeper: writing ${locks} locks`);
      // Contenders are ephemeral: they live as long as this session.
      const session = await fill(port, locks);
      const list = (args: readonly string[]): (() => ReturnType<typeof measure>) => {
        return () => measure(fencepost(['ls', '--target', target, ...args], locks));
      };
      const goal = { ratio: 1, peakMib: 150 };
      try {
        return await compare(
          'zookeeper',
          {
            name: 'bare walk',
            measure: () => measure(floor('zookeeper', [String(port)], locks * (contenders + 1))),
          },
          [
            { name: 'ls -o name', goal, measure: list(['-o', 'name']) },
            { name: 'ls (table)', goal, measure: list([]) },
            { name: 'ls -o jsonl', goal: { peakMib: 150 }, measure: list(['-o', 'jsonl']) },
          ],
          { runs, tell },
        );
      } finally {
        session.close();
      }
    }),
};

/** Queues as Curator's mutex makes them. */
async function fill(port: number, locks: number): Promise<zooKeeper.Client> {
  const client = zooKeeper.createClient(`127.0.0.1:${port}`, { sessionTimeout: 60_000 });
  client.connect();
  await once(client, 'connected');
  const { EPHEMERAL_SEQUENTIAL, PERSISTENT } = zooKeeper.CreateMode;
  await create(client, '/locks', PERSISTENT);
  let next = 0;
  const write = async (): Promise<void> => {
    for (let lock = next++; lock < locks; lock = next++) {
      await create(client, `/locks/job-${lock}`, PERSISTENT);
      for (let n = 0; n < contenders; n += 1) {
        const guid = `${String(lock).padStart(8, '0')}-0000-4000-8000-00000000000${n}`;
        await create(client, `/locks/job-${lock}/_c_${guid}-lock-`, EPHEMERAL_SEQUENTIAL);
      }
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
  return client;
}

function create(client: zooKeeper.Client, path: string, mode: number): Promise<string> {
  return new Promise((resolve, reject) => {
    client.create(path, Buffer.from('10.0.0.7'), mode, (error, made) => {
      if (error instanceof Error) reject(error);
      else resolve(made);
    });
  });
}
