/** Redis labs beyond one server, in clear, over TLS, and with a password: every one serves as a whole. */
import { describe, expect, test } from 'vitest';
import type { LabTopology } from '../../../src/lab/lab.ts';
import { askRedis } from '../../../src/lab/wire.ts';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';

const password = 'lab-secret';

const topologies = [
  { system: 'redis', members: 3, url: /^rediss?:\/\/127\.0\.0\.1:\d+/ },
  { system: 'redis-sentinel', members: 6, url: /^rediss?\+sentinel:.*\/mymaster/ },
  { system: 'redis-cluster', members: 6, url: /^rediss?\+cluster:/ },
  { system: 'redlock', members: 5, url: /^(redlock|rediss\+redlock):/ },
] as const satisfies readonly { system: LabTopology; members: number; url: RegExp }[];

const ways = [
  { way: 'in clear', tls: false, options: {} },
  { way: 'over TLS with a password', tls: true, options: { requirepass: password } },
] as const;

const cases = topologies.flatMap((topology) => ways.map((way) => ({ ...topology, ...way })));

describe.each(cases)(
  'a lab of $system ×$members $way',
  ({ system, members, url, tls, options }) => {
    const handle = useLab({ system, members, tls, options });
    const ask = (port: number, ...commands: readonly (readonly string[])[]): Promise<string> =>
      askRedis(port, [...('requirepass' in options ? [['AUTH', password]] : []), ...commands], tls);
    const portOf = (name: string): number =>
      handle.lab.servers.find((server) => server.name === name)?.port ?? 0;

    test('has its servers and a target URL that names the topology', () => {
      expect(handle.lab.servers).toHaveLength(members);
      expect(handle.target).toMatch(url);
      expect(handle.target.includes('?ca=')).toBe(tls);
    });

    test('every server answers', async () => {
      for (const { port } of handle.lab.servers)
        expect(await ask(port, ['PING'])).toContain('PONG');
    });

    if (system === 'redis' || system === 'redis-sentinel') {
      test('a write on the primary reaches both replicas', async () => {
        const answer = await ask(portOf('redis'), ['SET', 'kept', '1'], ['WAIT', '2', '5000']);
        expect(answer).toContain(':2');
        expect(await ask(portOf('replica-2'), ['GET', 'kept'])).toContain('$1\r\n1');
      });
    }
    if (system === 'redis-sentinel') {
      test('the sentinels replace a primary that was killed', async () => {
        const before = portOf('redis');
        await handle.lab.kill('redis');
        const named = await until('another primary', async () => {
          const answer = await ask(portOf('sentinel-1'), [
            'SENTINEL',
            'GET-MASTER-ADDR-BY-NAME',
            'mymaster',
          ]);
          const port = Number(/127\.0\.0\.1\r\n\$\d+\r\n(\d+)/.exec(answer)?.[1]);
          return port !== before && port;
        });
        expect([portOf('replica-1'), portOf('replica-2')]).toContain(named);
      });
    }
    if (system === 'redis-cluster') {
      test('every slot is served, each by one primary with one replica', async () => {
        const answer = await ask(portOf('node-1'), ['CLUSTER', 'INFO']);
        expect(answer).toContain('cluster_slots_ok:16384');
        expect(answer).toContain('cluster_size:3');
      });
      test('a node that lost its data comes back as the same node', async () => {
        const name = 'node-6';
        const before = await ask(portOf(name), ['CLUSTER', 'MYID']);
        await handle.lab.kill(name);
        await handle.lab.start(name, { empty: true });
        expect(await ask(portOf(name), ['CLUSTER', 'MYID'])).toBe(before);
      });
    }
  },
);
