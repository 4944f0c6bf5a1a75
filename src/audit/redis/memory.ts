/** Checks of what may throw locks away or refuse them: memory, eviction, neighbours. */
import { formatDuration } from '../../domain/duration.ts';
import type { RedisCheck } from '../check.ts';
import { either, judgeBy, reading, whole } from '../readings.ts';
import { info, setting } from './readings.ts';

/** Share of the memory above which acquiring is about to fail. */
const fullShare = 0.85;

export const evictionPolicy: RedisCheck = {
  id: 'R04',
  title: 'eviction of locks',
  severity: 'high',
  reads: ['CONFIG GET maxmemory, maxmemory-policy (or INFO)'],
  why: 'a full server with an eviction policy deletes keys, locks among them; volatile-* picks just those with a TTL',
  fix: 'give locks an instance of their own with maxmemory-policy noeviction',
  judge: (facts) =>
    judgeBy(
      [
        either(setting(facts, 'maxmemory-policy'), info(facts, 'maxmemory_policy')),
        either(setting(facts, 'maxmemory'), info(facts, 'maxmemory')),
      ],
      ([policy = '', limit = '']) => ({
        ok: policy === 'noeviction' || limit === '0',
        found: limit === '0' ? 'maxmemory 0: nothing is evicted' : `maxmemory-policy ${policy}`,
        wanted: 'noeviction',
      }),
    ),
};

export const memoryHeadroom: RedisCheck = {
  id: 'R05',
  title: 'memory headroom',
  severity: 'med',
  reads: ['INFO used_memory, maxmemory, total_system_memory'],
  why: 'a server without memory refuses to take locks (OOM), and renewals that write',
  fix: 'raise maxmemory or move other data away; `MEMORY STATS` shows what takes it',
  judge: (facts) => {
    const limit = whole(info(facts, 'maxmemory'));
    const unlimited = limit.answer.kind !== 'unknown' && limit.answer.value === '0';
    const room = unlimited ? whole(info(facts, 'total_system_memory')) : limit;
    const name = unlimited ? 'the machine; a limit of its container is not seen' : 'maxmemory';
    return judgeBy([whole(info(facts, 'used_memory')), room], ([used = '', all = '']) => {
      const share = Number(used) / Number(all);
      return {
        ok: share <= fullShare,
        found: `${Math.round(share * 100)} % of ${name}`,
        wanted: `at most ${fullShare * 100} %`,
      };
    });
  },
};

export const evictedKeys: RedisCheck = {
  id: 'R06',
  title: 'evicted keys',
  severity: 'high',
  reads: ['INFO evicted_keys, uptime_in_seconds'],
  why: 'a lock may have been among the keys that the server threw away',
  fix: 'noeviction on an instance of its own; CONFIG RESETSTAT then starts the count again',
  judge: (facts) =>
    judgeBy(
      [whole(info(facts, 'evicted_keys')), whole(info(facts, 'uptime_in_seconds'))],
      ([evicted = '', uptimeS = '']) => ({
        ok: evicted === '0',
        found: `${evicted} evicted since its start ${formatDuration(Number(uptimeS) * 1000)} ago, or CONFIG RESETSTAT`,
        wanted: 'none',
      }),
    ),
};

export const sharedInstance: RedisCheck = {
  id: 'R22',
  title: 'databases in use',
  severity: 'med',
  reads: ['INFO keyspace'],
  why: 'numbered databases share memory, eviction policy and the one thread; FLUSHALL takes them all',
  fix: 'move the other data to an instance of its own, not to another database number',
  judge: ({ server }) =>
    judgeBy([reading('INFO keyspace', server.info, usedDatabases)], ([used = '']) => ({
      ok: !used.includes(' '),
      found: used === '' ? 'no keys' : `keys in ${used}`,
      wanted: 'one database in use',
    })),
};

/** `db0 db3`. */
function usedDatabases(info: ReadonlyMap<string, string>): string {
  return [...info.keys()].filter((field) => /^db\d+$/.test(field)).join(' ');
}
