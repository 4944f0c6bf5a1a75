/** Runs of scenarios on machines that are too busy for their leases. */
import type { Ran } from './fencepost.ts';

/**
 * The third: the holder was paused when its lease was over already. The last: of a control too it
 * can be unknown in time whose record a release met. No steady state: no replica answered a WAIT
 * within its 500 ms. A control that was judged and did not go red
 * reads otherwise, and fails at once.
 */
const machineWasSlow =
  /is too slow for a lease of|more than a quarter of the lease|no holder was stopped and replaced|nobody asked for anything within|no steady state: acquire ended too-few-replicas|is (inconclusive|not-exercised), not violated/;

/** Runs again, up to five times, what was inconclusive because this machine was too slow. */
export async function inTime(run: () => Promise<Ran>): Promise<Ran> {
  for (let attempt = 1; ; attempt += 1) {
    const ran = await run();
    if (ran.code !== 3 || attempt === 6 || !machineWasSlow.test(ran.stdout)) return ran;
  }
}
