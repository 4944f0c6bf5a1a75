/** `ls` over a Redis full of locks, beside a bare reader of the same keys. */
import { connect } from 'node:net';
import { once } from 'node:events';
import { compare, type Bench } from './bench.ts';
import { fencepost, floor, measure } from './child.ts';
import { withLab } from './lab.ts';

export const redisListing: Bench = {
  name: 'redis',
  about: 'ls over a million strings and 20,000 hashes, beside a bare pipelined reader',
  run: ({ sizes, runs, tell }) =>
    withLab('redis', async ({ target }, port) => {
      const keys = sizes.redisKeys + Math.ceil(sizes.redisKeys / 50);
      tell(`redis: writing ${keys} keys`);
      await fill(port, sizes.redisKeys);
      const list = (args: readonly string[]): (() => ReturnType<typeof measure>) => {
        return () => measure(fencepost(['ls', '--target', target, ...args], keys));
      };
      const goal = { ratio: 1.5, peakMib: 150 };
      return compare(
        'redis',
        {
          name: 'bare reader',
          measure: () => measure(floor('redis', [String(port)], keys)),
        },
        [
          { name: 'ls -o name', goal, measure: list(['-o', 'name']) },
          { name: 'ls (table)', goal, measure: list([]) },
          { name: 'ls -o jsonl', goal: { peakMib: 150 }, measure: list(['-o', 'jsonl']) },
        ],
        { runs, tell },
      );
    }),
};

/** Strings with a TTL as small libraries write them, and Redisson's hashes. */
async function fill(port: number, strings: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.write(command('CLIENT', 'REPLY', 'OFF'));
  let batch = '';
  for (let n = 0; n < strings; n += 1) {
    batch += command('SET', `lock:order:${n}`, `${hex(n)}${hex(n + 1)}`, 'PX', '86400000');
    if (n % 50 === 0) {
      const owner = `${hex(n)}-0000-4000-8000-${hex(n)}0000:1`;
      batch += command('HSET', `job:${n}`, owner, '1') + command('PEXPIRE', `job:${n}`, '86400000');
    }
    if (batch.length < 65_536) continue;
    if (!socket.write(batch)) await once(socket, 'drain');
    batch = '';
  }
  // The only reply: everything before it is done.
  socket.end(batch + command('CLIENT', 'REPLY', 'ON') + command('PING'));
  for await (const reply of socket) if (String(reply).includes('PONG')) break;
}

function command(...words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
}

/** Eight hex digits that look random and repeat in every run (Knuth's multiplicative hash). */
function hex(n: number): string {
  return (Math.imul(n + 1, 2654435761) >>> 0).toString(16).padStart(8, '0');
}
