/** The Redis adapter: one server, named by its address or by sentinels. Wires the parts of this folder. */
import type { Endpoint, Target } from '../../domain/target.ts';
import { ConventionSet } from '../../conventions/convention-set.ts';
import { redisConventions } from '../../conventions/redis-index.ts';
import type { Backend, BackendOptions } from '../backend.ts';
import { flatten } from '../streams.ts';
import { known, valueOf } from '../../domain/known.ts';
import type { LockSnapshot, ServerView } from '../../domain/lock.ts';
import type { Probe } from '../../domain/probe.ts';
import { readAuditFacts } from './audit-facts.ts';
import { RedisConnection } from './connection.ts';
import { lockHistory } from './history.ts';
import { inspectLock, type InspectWorld } from './inspect.ts';
import { listLocks } from './list.ts';
import { previewRelease } from './preview.ts';
import { probeServer } from './probe.ts';
import { RecordReader } from './reader.ts';
import { releaseLock } from './release.ts';
import { agreement, doubts, health, Sentinels, type SentinelView } from './sentinel.ts';
import { readServerFacts, toServerView } from './server-view.ts';
import { sampleLease } from './sample.ts';
import type { SnapshotContext } from './snapshot.ts';

/** Opens nothing yet: the first request connects. @throws {UsageError} on a bad database or TLS file */
export function openRedisBackend(target: Target, options: BackendOptions): Promise<Backend> {
  const connection = new RedisConnection(target, options);
  return Promise.resolve({
    ...redisBackend(connection, options, undefined),
    auditFacts: (_locks: readonly LockSnapshot[], signal: AbortSignal) =>
      readAuditFacts(connection, target.tls !== undefined, signal),
  });
}

/**
 * Opens nothing yet. Every new connection goes to whom the sentinels name then.
 * @throws {UsageError} when the target names no primary, or on a bad TLS file
 */
export function openSentinelBackend(target: Target, options: BackendOptions): Promise<Backend> {
  const sentinels = new Sentinels(target, options);
  const located = async (signal: AbortSignal): Promise<Endpoint> =>
    (await sentinels.ask(signal)).primary;
  const connection = new RedisConnection(target, options, located);
  return Promise.resolve(redisBackend(connection, options, sentinels));
}

function redisBackend(
  connection: RedisConnection,
  options: BackendOptions,
  sentinels: Sentinels | undefined,
): Backend {
  const conventions = new ConventionSet(
    options.conventions?.redis ?? [],
    redisConventions,
    options.onlyConventions,
  );
  const reader = new RecordReader(connection);
  const context = async (signal: AbortSignal): Promise<SnapshotContext> => {
    const facts = await readServerFacts(connection, { signal });
    return {
      database: connection.database,
      runId: valueOf(facts.runId),
      server: { ...toServerView(connection, facts), ...named(await sentinels?.ask(signal)) },
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
    async probe(signal) {
      const found = await probeServer(connection, signal);
      const view = await sentinels?.ask(signal);
      return view === undefined ? found : { ...found, ...seenBySentinels(found, view) };
    },
    history: (ref, signal) => lockHistory(() => world(signal), ref),
    sample: (seen, forMs, signal, onProgress) =>
      sampleLease({ connection, reader, conventions, signal }, seen, forMs, onProgress),
    preview: (seen, how) => previewRelease(conventions, seen, how),
    release: (seen, how, signal) => releaseLock({ connection, conventions }, seen, how, signal),
    close() {
      connection.close();
      sentinels?.close();
      return Promise.resolve();
    },
  };
}

/** What the sentinels add to the view of the server. */
function named(view: SentinelView | undefined): Pick<ServerView, 'via' | 'doubts'> {
  return view === undefined ? {} : { via: agreement(view), doubts: doubts(view) };
}

function seenBySentinels(found: Probe, view: SentinelView): Partial<Probe> {
  const ownWord = found.healthy;
  const topology = valueOf(found.topology) ?? 'primary';
  return {
    topology: known(`${topology} (${agreement(view)})`),
    server: { ...found.server, ...named(view) },
    // The server's own no first: it knows of a failover before the sentinels agree on one.
    healthy: ownWord.kind === 'known' && !ownWord.value.can ? ownWord : known(health(view)),
  };
}
