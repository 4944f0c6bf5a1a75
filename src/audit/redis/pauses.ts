/** Checks of what makes renewals late or cuts their connections. */
import { formatDuration } from '../../domain/duration.ts';
import type { RedisCheck, Limits } from '../check.ts';
import { judgeBy, notApplicable, reading, whole } from '../readings.ts';
import { info, setting } from './readings.ts';

/** A server that stands still for a tenth of a lease makes the second renewal late. */
function longestPauseMs({ leaseMs }: Limits): number {
  return leaseMs / 10;
}

export const slowCommands: RedisCheck = {
  id: 'R13',
  title: 'slow commands',
  severity: 'med',
  reads: ['SLOWLOG GET 128', 'CONFIG GET slowlog-log-slower-than'],
  why: 'one thread runs all commands: while a slow one runs, no lock is renewed',
  fix: 'find the command in SLOWLOG GET and its caller; KEYS and big ranges become SCAN and pages',
  judge: (facts, limits) => {
    const wantedMs = longestPauseMs(limits);
    const wanted = `none over ${formatDuration(wantedMs)}, a tenth of the lease`;
    const { slowest } = facts.server;
    if (slowest.kind !== 'unknown' && slowest.value !== 'none' && slowest.value.tookMs > wantedMs) {
      const { name, tookMs, among } = slowest.value;
      const found = `${name} took ${formatDuration(tookMs)}, slowest of the last ${among} logged`;
      return judgeBy([reading('SLOWLOG GET 128', slowest, () => found)], () => ({
        ok: false,
        found,
        wanted,
      }));
    }
    return judgeBy(
      [
        reading('SLOWLOG GET 128', slowest, () => 'none over the limit'),
        setting(facts, 'slowlog-log-slower-than'),
      ],
      ([, logged = '']) => {
        const loggedMs = Number(logged) / 1000;
        if (loggedMs >= 0 && loggedMs <= wantedMs) {
          return { ok: true, found: 'none logged', wanted };
        }
        return {
          state: 'unknown',
          reason: `slowlog-log-slower-than ${logged}: commands over ${formatDuration(wantedMs)} are not all logged`,
          remedy: `needs slowlog-log-slower-than between 0 and ${wantedMs * 1000}`,
          evidence: [{ command: 'CONFIG GET slowlog-log-slower-than', value: logged }],
        };
      },
    );
  },
};

export const forkTime: RedisCheck = {
  id: 'R14',
  title: 'time of forks',
  severity: 'med',
  reads: ['INFO latest_fork_usec, total_forks'],
  why: 'while it forks for a snapshot or a rewrite, the server answers nobody',
  fix: 'turn transparent huge pages off; less memory for one server; snapshots on a replica',
  judge: (facts, limits) => {
    const forks = info(facts, 'total_forks', '');
    if (forks.answer.kind !== 'unknown' && forks.answer.value === '0') {
      return notApplicable('it has not forked since its start, or CONFIG RESETSTAT');
    }
    const wantedMs = longestPauseMs(limits);
    return judgeBy([whole(info(facts, 'latest_fork_usec'))], ([micros = '']) => ({
      ok: Number(micros) / 1000 <= wantedMs,
      found: `the latest took ${formatDuration(Number(micros) / 1000)}`,
      wanted: `at most ${formatDuration(wantedMs)}, a tenth of the lease`,
    }));
  },
};

export const idleConnections: RedisCheck = {
  id: 'R20',
  title: 'idle and dead connections',
  severity: 'low',
  reads: ['CONFIG GET timeout, tcp-keepalive'],
  why: 'a timeout below the lease cuts owners that work; without keepalive dead owners stay connected',
  fix: 'timeout 0 (or above the lease) and tcp-keepalive 300 or less',
  judge: (facts, { leaseMs }) =>
    judgeBy(
      [whole(setting(facts, 'timeout')), whole(setting(facts, 'tcp-keepalive'))],
      ([timeoutS = '', keepaliveS = '']) => ({
        ok: (timeoutS === '0' || Number(timeoutS) * 1000 > leaseMs) && keepaliveS !== '0',
        found: `timeout ${timeoutS} s, tcp-keepalive ${keepaliveS} s`,
        wanted: `timeout 0 or over ${formatDuration(leaseMs)}, tcp-keepalive not 0`,
      }),
    ),
};
