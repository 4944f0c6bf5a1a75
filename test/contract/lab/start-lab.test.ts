import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import ZooKeeper from 'node-zookeeper-client';
import { describe, expect, test } from 'vitest';
import { isRunning } from '../../../src/lab/kill.ts';
import type { LabSystem } from '../../../src/lab/lab.ts';
import { listRecords } from '../../../src/lab/records.ts';
import { startLab } from '../../../src/lab/start-lab.ts';
import { askRedis, askSocket, askZooKeeper, postJson } from '../../../src/lab/wire.ts';
import {
  openProcessReader,
  type ProcessIdentity,
} from '../../../src/processes/process-evidence.ts';
import { labSpec, useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';

/** Writes and reads one value on a server, so that tests see whether data survived. */
interface Store {
  write(port: number): Promise<void>;
  /** Whether the value is there. */
  holds(port: number): Promise<boolean>;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const stores: Readonly<Record<LabSystem, Store>> = {
  redis: {
    write: async (port) => {
      expect(await askRedis(port, [['SET', 'kept', '1']])).toContain('+OK');
    },
    holds: async (port) => (await askRedis(port, [['EXISTS', 'kept']])).includes(':1'),
  },
  etcd: {
    write: async (port) => {
      const body = { key: base64('kept'), value: base64('1') };
      expect((await postJson(port, '/v3/kv/put', body, undefined)).status).toBe(200);
    },
    holds: async (port) => {
      const { body } = await postJson(port, '/v3/kv/range', { key: base64('kept') }, undefined);
      return body.includes('"count":"1"');
    },
  },
  zookeeper: {
    write: (port) =>
      withZooKeeper(port, (client, done) => {
        client.create('/kept', (error) => {
          // It may be there from the test before.
          const isThere = error instanceof ZooKeeper.Exception && error.getName() === 'NODE_EXISTS';
          done(isThere ? undefined : error, undefined);
        });
      }),
    holds: (port) =>
      withZooKeeper<boolean>(port, (client, done) => {
        client.exists('/kept', (error, stat) => {
          done(error, Boolean(stat));
        });
      }),
  },
};

/** One call on a session of its own. The client waits for ever on a dead server: ask that first. */
async function withZooKeeper<T>(
  port: number,
  call: (client: ZooKeeper.Client, done: (error: unknown, value: T) => void) => void,
): Promise<T> {
  await askZooKeeper(port, 'srvr');
  const client = ZooKeeper.createClient(`127.0.0.1:${port}`);
  try {
    return await new Promise<T>((resolve, reject) => {
      client.once('connected', () => {
        call(client, (error, value) => {
          if (error instanceof Error) reject(error);
          else resolve(value);
        });
      });
      client.connect();
    });
  } finally {
    client.close();
  }
}

async function identities(pids: readonly number[]): Promise<readonly ProcessIdentity[]> {
  const reader = openProcessReader();
  const facts = await Promise.all(pids.map((pid) => reader.read(pid)));
  return facts.filter((fact) => fact !== undefined);
}

describe.each([
  { system: 'redis', members: 1 },
  { system: 'etcd', members: 1 },
  { system: 'etcd', members: 3 },
  { system: 'zookeeper', members: 1 },
  { system: 'zookeeper', members: 3 },
] as const)('a lab of $system ×$members', ({ system, members }) => {
  const handle = useLab({ system, members });
  const store = stores[system];
  const last = () => {
    const server = handle.lab.servers.at(-1);
    if (server === undefined) throw new Error('a lab has servers');
    return server;
  };

  test('serves on every member that its target URL names', () => {
    const { target, servers } = handle.lab;
    expect(servers).toHaveLength(members);
    expect(target).toMatch(/^(redis|etcd|zk):\/\//);
    expect(
      target
        .replace(/^.*:\/\//, '')
        .replace(/\?.*$/, '')
        .split(','),
    ).toEqual(servers.map(({ port }) => `127.0.0.1:${port}`));
  });

  test('a killed server is gone, and comes back on its port with its data', async () => {
    const before = last();
    await store.write(before.port);
    await handle.lab.kill(before.name);
    await expect(store.holds(before.port)).rejects.toThrow(/ECONNREFUSED/);
    await handle.lab.start(before.name);
    expect(last().pid).not.toBe(before.pid);
    expect(await store.holds(before.port)).toBe(true);
  });

  test('a server killed from outside is started again too', async () => {
    await store.write(last().port);
    process.kill(last().pid, 'SIGKILL');
    await until('the kill is noticed', () =>
      handle.lab.start(last().name).then(
        () => true,
        (error: unknown) =>
          !String(error).includes('runs already') && Promise.reject(error as Error),
      ),
    );
    expect(await store.holds(last().port)).toBe(true);
  });

  test('a server started empty has lost its own data, and a cluster gives it the others’', async () => {
    await store.write(last().port);
    await handle.lab.kill(last().name);
    await handle.lab.start(last().name, { empty: true });
    expect(await store.holds(last().port)).toBe(members > 1);
  });

  test('starting a server that runs, or one that does not exist, is refused', async () => {
    await expect(handle.lab.start(last().name)).rejects.toThrow(/runs already/);
    await expect(handle.lab.kill('nobody')).rejects.toThrow('this lab has no server "nobody"');
  });

  test('stop leaves no process, no folder and no record, and may be called twice', async () => {
    const lab = await startLab(labSpec({ system, members }));
    const running = await identities(lab.servers.map(({ pid }) => pid));
    expect(running).toHaveLength(members);
    await lab.stop();
    await lab.stop();
    for (const server of running) expect(await isRunning(server)).toBe(false);
    expect(existsSync(lab.folder)).toBe(false);
    expect(listRecords(process.env).map(({ id }) => id)).not.toContain(lab.id);
  });
});

describe('options of a lab', () => {
  test('reach the server', async () => {
    const lab = await startLab(
      labSpec({ system: 'redis', options: { 'maxmemory-policy': 'allkeys-lru' } }),
    );
    try {
      const port = lab.servers[0]?.port ?? 0;
      const answer = await askSocket(port, 'CONFIG GET maxmemory-policy\r\n', (text) =>
        text.includes('allkeys-lru'),
      );
      expect(answer).toContain('allkeys-lru');
    } finally {
      await lab.stop();
    }
  });

  test('4lw=off leaves ZooKeeper with the words that it has by default', async () => {
    const lab = await startLab(labSpec({ system: 'zookeeper', options: { '4lw': 'off' } }));
    try {
      const port = lab.servers[0]?.port ?? 0;
      expect(await askZooKeeper(port, 'cons')).toContain('not in the whitelist');
    } finally {
      await lab.stop();
    }
  });

  test('one that the server does not know is told with its log, and nothing is left', async () => {
    const before = listRecords(process.env).length;
    const start = startLab(labSpec({ system: 'redis', options: { 'no-such-option': '1' } }));
    await expect(start).rejects.toThrow(
      expect.objectContaining({
        code: 'lab-not-ready',
        hint: expect.stringContaining('Bad directive') as string,
      }),
    );
    const left = listRecords(process.env).filter(({ spec }) => 'no-such-option' in spec.options);
    expect(left, `${before} records before`).toEqual([]);
  });

  test('an abort while starting leaves nothing', async () => {
    const options = { 'maxmemory-samples': '7' };
    const start = startLab(labSpec({ system: 'redis', options }), { signal: AbortSignal.abort() });
    await expect(start).rejects.toThrow();
    expect(listRecords(process.env).filter((r) => 'maxmemory-samples' in r.spec.options)).toEqual(
      [],
    );
  });
});

test('the log of a server is a file of its own', async () => {
  const lab = await startLab(labSpec({ system: 'redis' }));
  try {
    const log = await readFile(lab.servers[0]?.logFile ?? '', 'utf8');
    expect(log).toContain('Ready to accept connections');
  } finally {
    await lab.stop();
  }
});
