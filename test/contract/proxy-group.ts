/** All proxies of one worker to the servers of a lock as if they were one, for tests that cut it off. */
import type { WorkerProxy } from '../../src/chaos/proxy.ts';

/** What tests use of a worker's proxies. */
export type ProxyGroup = Pick<
  WorkerProxy,
  'arm' | 'cut' | 'delay' | 'heal' | 'upstreamAddresses' | 'evidence'
> & {
  readonly framesToServer: () => number;
};

/** A rule hits when it has hit on every server; the bytes are those of all. */
export function groupOf(proxies: readonly WorkerProxy[]): ProxyGroup {
  const each = (act: (proxy: WorkerProxy) => void) => {
    for (const proxy of proxies) act(proxy);
  };
  return {
    arm(rule) {
      const armed = proxies.map((proxy) => proxy.arm(rule));
      const hit = Promise.all(armed.map((one) => one.hit)).then((hits) => {
        const sum = (of: (one: NonNullable<(typeof hits)[number]>) => number) =>
          hits.reduce((total, one) => total + (one === undefined ? 0 : of(one)), 0);
        const [first] = hits;
        if (first === undefined || hits.includes(undefined)) return undefined;
        return {
          ...first,
          requestBytesForwarded: sum((one) => one.requestBytesForwarded),
          replyBytesReceived: sum((one) => one.replyBytesReceived),
          replyBytesForwarded: sum((one) => one.replyBytesForwarded),
        };
      });
      return {
        hit,
        disarm: () => {
          for (const one of armed) one.disarm();
        },
      };
    },
    cut: (way) => {
      each((proxy) => {
        proxy.cut(way);
      });
    },
    delay: (way, delayMs) => {
      each((proxy) => {
        proxy.delay(way, delayMs);
      });
    },
    heal: () => {
      each((proxy) => {
        proxy.heal();
      });
    },
    upstreamAddresses: () => proxies.flatMap((proxy) => [...proxy.upstreamAddresses()]),
    evidence: () => proxies.flatMap((proxy) => [...proxy.evidence()]),
    framesToServer: () =>
      proxies.reduce((total, proxy) => total + proxy.counters('to-server').framesIn, 0),
  };
}
