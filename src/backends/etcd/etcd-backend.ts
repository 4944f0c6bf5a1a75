/** The etcd adapter: one cluster, any of its members. Wires the parts of this folder. */
import { UsageError } from '../../domain/errors.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import { displayTarget, type Target } from '../../domain/target.ts';
import { EtcdLink } from '../../clients/etcd/link.ts';
import { ConventionSet } from '../../conventions/convention-set.ts';
import { etcdConventions } from '../../conventions/etcd-index.ts';
import type { Backend, BackendOptions } from '../backend.ts';
import { flatten } from '../streams.ts';
import { readAuditFacts } from './audit-facts.ts';
import { lockHistory } from './history.ts';
import { inspectLock } from './inspect.ts';
import { listLocks } from './list.ts';
import { previewRelease } from './preview.ts';
import { probeCluster } from './probe.ts';
import { releaseLock } from './release.ts';
import { sampleLease } from './sample.ts';
import type { EtcdWorld } from './world.ts';

/** Opens nothing yet: the first request connects. @throws {UsageError} on a path or a bad TLS file */
export function openEtcdBackend(target: Target, options: BackendOptions): Promise<Backend> {
  if (target.path !== '') {
    throw new UsageError(`"${displayTarget(target)}" has a path`, {
      code: 'bad-target',
      hint: 'etcd targets have none: give the prefix to the command, e.g. fencepost ls "/locks/*"',
      definite: true,
    });
  }
  const conventions = new ConventionSet(
    options.conventions?.etcd ?? [],
    etcdConventions,
    options.onlyConventions,
  );
  const link = new EtcdLink(target, options);
  return Promise.resolve({
    ...etcdBackend({ link, conventions }),
    auditFacts: (locks: readonly LockSnapshot[], signal: AbortSignal) =>
      readAuditFacts({ link, target, options }, locks, signal),
  });
}

function etcdBackend(world: EtcdWorld): Backend {
  const { link, conventions } = world;
  return {
    kind: 'etcd',
    display: link.display,
    list(query, signal) {
      const tally = { read: 0, others: 0, hidden: 0, holes: [] };
      return { locks: flatten(listLocks(world, query, tally, signal)), tally };
    },
    inspect: (ref, signal) => inspectLock(world, ref, signal),
    probe: (signal) => probeCluster(link, signal),
    history: (ref, signal) => lockHistory(world, ref, signal),
    sample: (seen, forMs, signal, onProgress) =>
      sampleLease(world, seen, forMs, signal, onProgress),
    preview: (seen, how) => previewRelease(conventions, seen, how),
    release: (seen, how, signal) => releaseLock(world, seen, how, signal),
    close() {
      link.close();
      return Promise.resolve();
    },
  };
}
