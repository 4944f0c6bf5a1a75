/** Proof that a client of etcd waits in its library: the server counts watches, but names nobody. */
import { until } from '../../helpers/until.ts';
import { clientDeadlineMs } from './client-program.ts';

export async function untilWatched(port: number, watchers: number): Promise<void> {
  await until(
    `${watchers} watch`,
    async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      const total = /^etcd_debugging_mvcc_watcher_total (\d+)$/m.exec(metrics)?.[1];
      return Number(total) === watchers;
    },
    clientDeadlineMs,
  );
}
