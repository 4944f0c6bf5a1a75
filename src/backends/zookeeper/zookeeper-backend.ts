/** The ZooKeeper adapter: one ensemble, through any of its members. Wires the parts of this folder. */
import { ConventionSet } from '../../conventions/convention-set.ts';
import { zookeeperConventions } from '../../conventions/zookeeper-index.ts';
import type { LockDetail, LockRef } from '../../domain/lock.ts';
import { displayTarget, type Target } from '../../domain/target.ts';
import { interrupted } from '../../clients/zookeeper/errors.ts';
import type { Backend, BackendOptions, ListTally } from '../backend.ts';
import { Connection, memberTimeoutMs, untilAborted } from './connection.ts';
import { presentContenders } from './history.ts';
import { inspectLock, type InspectWorld } from './inspect.ts';
import { listLocks } from './list.ts';
import { previewRelease } from './preview.ts';
import { probeEnsemble } from './probe.ts';
import { rateLimiter } from './rate.ts';
import { releaseNode } from './release.ts';
import { sampleSession } from './sample.ts';

/** Opens the adapter; it connects with the first request. */
export function openZooKeeperBackend(target: Target, options: BackendOptions): Promise<Backend> {
  const connection = new Connection(target, options);
  const conventions = new ConventionSet(
    options.conventions?.zookeeper ?? [],
    zookeeperConventions,
    options.onlyConventions,
  );
  const world = async (signal: AbortSignal): Promise<InspectWorld> => {
    if (signal.aborted) throw interrupted();
    const served = await untilAborted(connection.served(), signal);
    return { ...served, target, conventions, timeoutMs: memberTimeoutMs };
  };
  const inspect = async (ref: LockRef, signal: AbortSignal): Promise<LockDetail | undefined> =>
    untilAborted(inspectLock(await world(signal), ref), signal);
  return Promise.resolve({
    kind: 'zookeeper',
    display: displayTarget(target),
    probe: async (signal) =>
      untilAborted(probeEnsemble(target, await world(signal), memberTimeoutMs), signal),
    list(query, signal) {
      const tally: ListTally = { read: 0, others: 0, hidden: 0, holes: [] };
      const locks = async function* () {
        const { session, server } = await world(signal);
        const admit = rateLimiter(query.ratePerSecond, signal);
        yield* listLocks({ session, server, conventions, admit }, query, tally, signal);
      };
      return { locks: locks(), tally };
    },
    inspect,
    history: (ref, signal) => presentContenders(() => inspect(ref, signal)),
    sample: async (seen, forMs, signal, onProgress) =>
      sampleSession(await world(signal), seen, forMs, signal, onProgress),
    preview: (seen, how) => previewRelease(conventions, seen, how),
    release: (seen, how, signal) =>
      releaseNode({ open: () => connection.session(), conventions }, seen, how, signal),
    close: () => connection.close(),
  });
}
