/** Proof that a client of Redis waits in its library, where the server keeps no record of waiters. */
import type { Redis } from 'ioredis';
import { until } from '../../helpers/until.ts';
import { clientDeadlineMs } from './client-program.ts';

/** Waits until this command, which nobody else sends, was tried several times from now on. */
export async function untilPolls(raw: Redis, command: string): Promise<void> {
  await raw.config('RESETSTAT');
  const calls = new RegExp(`cmdstat_${command}:calls=(\\d+)`);
  await until(
    `a client polls by ${command}`,
    async () => {
      return Number(calls.exec(await raw.info('commandstats'))?.[1]) > 3;
    },
    clientDeadlineMs,
  );
}
