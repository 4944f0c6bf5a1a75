/** Checks of what a lock outlives: the loss of a primary, and a restart. */
import type { RedisCheck } from '../check.ts';
import { either, judgeBy, notApplicable, whole } from '../readings.ts';
import { info, setting } from './readings.ts';

/** A primary that has not heard of its replicas for longer must not grant locks. */
const maxLagS = 10;

export const replicasToWrite: RedisCheck = {
  id: 'R10',
  title: 'replicas required to write',
  severity: 'high',
  reads: ['INFO connected_slaves', 'CONFIG GET min-replicas-to-write, min-replicas-max-lag'],
  why: 'cut off from its replicas, a primary goes on granting locks that the promoted replica never saw',
  fix: `min-replicas-to-write 1 or more, and min-replicas-max-lag ${maxLagS} or less`,
  judge: (facts) =>
    judgeBy(
      [
        whole(setting(facts, 'min-replicas-to-write')),
        whole(setting(facts, 'min-replicas-max-lag')),
        whole(info(facts, 'connected_slaves')),
      ],
      ([needed = '', lagS = '', connected = '']) =>
        needed === '0' && connected === '0'
          ? notApplicable('no replica is connected, and none is required: is one meant to be?')
          : {
              ok: Number(needed) >= 1 && Number(lagS) >= 1 && Number(lagS) <= maxLagS,
              found: `min-replicas-to-write ${needed}, max-lag ${lagS} s, ${connected} connected`,
              wanted: `1 or more, at most ${maxLagS} s`,
            },
    ),
};

export const persistence: RedisCheck = {
  id: 'R11',
  title: 'persistence over a restart',
  severity: 'high',
  reads: ['CONFIG GET appendonly, appendfsync (or INFO aof_enabled)'],
  why: 'a server that restarts within a lease without having written it grants the lock a second time',
  fix: 'appendonly yes with appendfsync always; or start it again only after the longest lease',
  judge: (facts) => {
    const enabled = either(setting(facts, 'appendonly'), info(facts, 'aof_enabled'));
    const off = { ok: false, found: 'no append-only file', wanted: 'appendfsync always' };
    if (enabled.answer.kind !== 'unknown' && ['no', '0'].includes(enabled.answer.value)) {
      return judgeBy([enabled], () => off);
    }
    return judgeBy([enabled, setting(facts, 'appendfsync')], ([, fsync = '']) => ({
      ok: fsync === 'always',
      found: `appendfsync ${fsync}`,
      wanted: 'always',
    }));
  },
};
