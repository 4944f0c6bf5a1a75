/** Checks of the server itself: its role and its version. */
import type { RedisCheck } from '../check.ts';
import { either, inForm, judgeBy, reading } from '../readings.ts';
import { info } from './readings.ts';

export const lockRole: RedisCheck = {
  id: 'R09',
  title: 'role of the server',
  severity: 'high',
  reads: ['ROLE (or INFO role)'],
  why: 'a replica is behind its primary and takes no locks: what it says of them may be over',
  fix: 'point the lock clients, and this audit, at the primary',
  judge: (facts) =>
    judgeBy(
      [either(reading('ROLE', facts.server.role, String), info(facts, 'role'))],
      ([role = '']) => ({
        ok: role === 'primary' || role === 'master',
        found: role === 'master' ? 'primary' : role,
        wanted: 'primary',
      }),
    ),
};

/** Release lines that upstream has ended: below 6.2, and 7.0. Valkey began at 7.2. */
function ended([major = 0, minor = 0]: readonly number[]): boolean {
  return major < 6 || (major === 6 && minor < 2) || (major === 7 && minor < 2);
}

export const supportedVersion: RedisCheck = {
  id: 'R21',
  title: 'supported version',
  severity: 'med',
  reads: ['INFO redis_version, valkey_version'],
  why: 'an ended release line gets no fixes, unless your distribution carries them over',
  fix: 'upgrade to 7.2 or later (or allow it knowingly, where a distribution patches it)',
  judge: (facts) =>
    judgeBy(
      [inForm(either(info(facts, 'valkey_version'), info(facts, 'redis_version')), /^\d+\.\d+/)],
      ([version = '']) => ({
        ok: !ended(version.split('.').map(Number)),
        found: ended(version.split('.').map(Number))
          ? `${version}, which upstream has ended; a server does not tell whether its distribution patches it`
          : version,
        wanted: '6.2, or 7.2 and later',
      }),
    ),
};
