/** The etcd adapter: one cluster, any of its members. Wires the parts of this folder. */
import { UsageError } from '../../domain/errors.ts';
import { displayTarget, type Target } from '../../domain/target.ts';
import { EtcdLink } from '../../clients/etcd/link.ts';
import type { Backend, BackendOptions } from '../backend.ts';
import { lockHistory } from './history.ts';
import { inspectLock } from './inspect.ts';
import { listLocks } from './list.ts';
import { previewRelease } from './preview.ts';
import { probeCluster } from './probe.ts';
import { releaseLock } from './release.ts';
import { sampleLease } from './sample.ts';

/** Opens nothing yet: the first request connects. @throws {UsageError} on a path or a bad TLS file */
export function openEtcdBackend(target: Target, options: BackendOptions): Promise<Backend> {
  if (target.path !== '') {
    throw new UsageError(`"${displayTarget(target)}" has a path`, {
      code: 'bad-target',
      hint: 'etcd targets have none: give the prefix to the command, e.g. fencepost ls "/locks/*"',
      definite: true,
    });
  }
  return Promise.resolve(etcdBackend(new EtcdLink(target, options)));
}

function etcdBackend(link: EtcdLink): Backend {
  return {
    kind: 'etcd',
    display: link.display,
    list(query, signal) {
      const tally = { read: 0, others: 0, hidden: 0, holes: [] };
      return { locks: listLocks(link, query, tally, signal), tally };
    },
    inspect: (ref, signal) => inspectLock(link, ref, signal),
    probe: (signal) => probeCluster(link, signal),
    history: (ref, signal) => lockHistory(link, ref, signal),
    sample: (seen, forMs, signal, onProgress) => sampleLease(link, seen, forMs, signal, onProgress),
    preview: previewRelease,
    release: (seen, how, signal) => releaseLock(link, seen, how, signal),
    close() {
      link.close();
      return Promise.resolve();
    },
  };
}
