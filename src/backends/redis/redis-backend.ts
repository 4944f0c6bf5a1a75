/** The Redis adapter: one standalone server, primary or replica. Wires the parts of this folder. */
import type { Target } from '../../domain/target.ts';
import { ConventionSet } from '../../conventions/convention-set.ts';
import { redisConventions } from '../../conventions/redis-index.ts';
import type { Backend, BackendOptions } from '../backend.ts';
import { valueOf } from '../../domain/known.ts';
import { RedisConnection } from './connection.ts';
import { flatten } from './flatten.ts';
import { lockHistory } from './history.ts';
import { inspectLock, type InspectWorld } from './inspect.ts';
import { listLocks } from './list.ts';
import { previewRelease } from './preview.ts';
import { probeServer } from './probe.ts';
import { RecordReader } from './reader.ts';
import type { RedisConventions } from './recognise.ts';
import { releaseLock } from './release.ts';
import { readServerFacts, toServerView } from './server-view.ts';
import { sampleLease } from './sample.ts';
import type { SnapshotContext } from './snapshot.ts';

/** Opens nothing yet: the first request connects. @throws {UsageError} on a bad database or TLS file */
export function openRedisBackend(target: Target, options: BackendOptions): Promise<Backend> {
  const conventions = new ConventionSet(options.conventions?.redis ?? [], redisConventions);
  return Promise.resolve(redisBackend(new RedisConnection(target, options), conventions));
}

function redisBackend(connection: RedisConnection, conventions: RedisConventions): Backend {
  const reader = new RecordReader(connection);
  const context = async (signal: AbortSignal): Promise<SnapshotContext> => {
    const facts = await readServerFacts(connection, { signal });
    return {
      database: connection.database,
      runId: valueOf(facts.runId),
      server: toServerView(connection, facts),
    };
  };
  const world = async (signal: AbortSignal): Promise<InspectWorld> => ({
    sender: connection,
    reader,
    conventions,
    context: await context(signal),
    signal,
  });
  return {
    kind: 'redis',
    display: connection.display,
    list(query, signal) {
      const tally = { read: 0, others: 0, hidden: 0, holes: [] };
      const locks = listLocks(
        { sender: connection, reader, conventions, context: () => context(signal) },
        query,
        tally,
        signal,
      );
      return { locks: flatten(locks), tally };
    },
    inspect: async (ref, signal) => inspectLock(await world(signal), ref),
    probe: (signal) => probeServer(connection, signal),
    history: (ref, signal) => lockHistory(() => world(signal), ref),
    sample: (seen, forMs, signal, onProgress) =>
      sampleLease({ connection, reader, conventions, signal }, seen, forMs, onProgress),
    preview: (seen, how) => previewRelease(conventions, seen, how),
    release: (seen, how, signal) => releaseLock({ connection, conventions }, seen, how, signal),
    close() {
      connection.close();
      return Promise.resolve();
    },
  };
}
