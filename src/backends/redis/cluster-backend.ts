/**
 * The adapter of a Redis Cluster: every lock is read and released on the node that serves its slot,
 * by the same parts that serve a single server. A listing walks all primaries side by side.
 */
import { createHash } from 'node:crypto';
import { ConventionSet } from '../../conventions/convention-set.ts';
import { redisConventions } from '../../conventions/redis-index.ts';
import { known, unknown, valueOf } from '../../domain/known.ts';
import type { LockRef, LockSnapshot } from '../../domain/lock.ts';
import type { Probe } from '../../domain/probe.ts';
import { displayEndpoint, type Target } from '../../domain/target.ts';
import { textToBytes, type Text } from '../../domain/text.ts';
import type { RedisRecord } from '../../conventions/convention.ts';
import type { Backend, BackendOptions, ListTally, LockQuery } from '../backend.ts';
import { flatten } from '../streams.ts';
import type { ClusterMap, ClusterNode } from './cluster-map.ts';
import { ClusterSender } from './cluster-sender.ts';
import { Cluster } from './cluster.ts';
import { interrupted, type RedisConnection, type RequestOptions } from './connection.ts';
import { redirection, tolerated } from './errors.ts';
import { slotOf } from './hash-slot.ts';
import { lockHistory } from './history.ts';
import { readIdentity } from './identity.ts';
import { inspectLock, type InspectWorld } from './inspect.ts';
import { listLocks, type ListWorld } from './list.ts';
import { mergePages } from './merge-pages.ts';
import type { Page } from './page.ts';
import { previewRelease } from './preview.ts';
import { probeServer } from './probe.ts';
import { RecordReader, type PageRequest } from './reader.ts';
import type { RedisConventions } from './recognise.ts';
import { releaseLock, type ReleaseWorld } from './release.ts';
import { sampleLease } from './sample.ts';
import { readServerFacts, toServerView } from './server-view.ts';
import type { SnapshotContext } from './snapshot.ts';

/** Opens nothing yet. @throws {UsageError} when the target names a database, or on a bad TLS file */
export function openClusterBackend(target: Target, options: BackendOptions): Promise<Backend> {
  const conventions = new ConventionSet(
    options.conventions?.redis ?? [],
    redisConventions,
    options.onlyConventions,
  );
  return Promise.resolve(new ClusterBackend(new Cluster(target, options), conventions));
}

/** What one node is read by: its own pages, and whatever belongs to their locks, wherever it is. */
interface Site {
  readonly connection: RedisConnection;
  readonly sender: ClusterSender;
  readonly reader: RecordReader;
}

class ClusterBackend implements Backend {
  readonly kind = 'redis-cluster';
  readonly #cluster: Cluster;
  readonly #conventions: RedisConventions;

  constructor(cluster: Cluster, conventions: RedisConventions) {
    this.#cluster = cluster;
    this.#conventions = conventions;
  }

  get display(): string {
    return this.#cluster.display;
  }

  async probe(signal: AbortSignal): Promise<Probe> {
    const map = await this.#cluster.refresh(signal);
    const [first] = map.primaries;
    const probes = await Promise.all(
      map.primaries.map(({ endpoint }) =>
        probeServer(this.#cluster.at(endpoint), signal).catch(tolerated),
      ),
    );
    const found = probes.find((one) => !(one instanceof Error));
    if (first === undefined || found === undefined || found instanceof Error) {
      throw probes.find((one) => one instanceof Error) ?? interrupted();
    }
    const down = probes.find((one) => one instanceof Error);
    const replicas = map.nodes.length - map.primaries.length;
    return {
      ...found,
      topology: known(`cluster of ${map.primaries.length} primaries, ${replicas} replicas`),
      clusterId: fingerprint(map),
      server: { ...found.server, doubts: this.#cluster.doubts },
      healthy: known(
        down === undefined ? map.health : { can: false, reason: `a primary: ${down.message}` },
      ),
    };
  }

  list(query: LockQuery, signal: AbortSignal): ReturnType<Backend['list']> {
    const tally: ListTally = { read: 0, others: 0, hidden: 0, holes: [] };
    return { locks: flatten(this.#pages(query, tally, signal)), tally };
  }

  async *#pages(
    query: LockQuery,
    tally: ListTally,
    signal: AbortSignal,
  ): AsyncGenerator<readonly LockSnapshot[]> {
    const map = await this.#cluster.map(signal);
    if (!map.health.can) tally.holes.push(map.health.reason);
    const { ratePerSecond, ...rest } = query;
    const share =
      ratePerSecond === undefined ? undefined : ratePerSecond / Math.max(1, map.primaries.length);
    const streams = map.primaries.map((node) =>
      listLocks(this.#listWorld(node, signal), { ...rest, ratePerSecond: share }, tally, signal),
    );
    let failed = 0;
    yield* mergePages(streams, (error, index) => {
      failed += 1;
      const failure = tolerated(error);
      // The others may be well; only when none is there is nothing to show.
      if (failed === streams.length) throw failure;
      const node = map.primaries[index];
      const where = node === undefined ? '?' : displayEndpoint(node.endpoint);
      tally.holes.push(`the locks of ${where}: ${failure.message}`);
    });
  }

  #listWorld(node: ClusterNode, signal: AbortSignal): ListWorld {
    const site = this.#site(this.#cluster.at(node.endpoint));
    const reader = new NodeReader(site.sender, this.#cluster, node);
    return {
      ...site,
      reader,
      conventions: this.#conventions,
      context: () => this.#context(site, signal),
    };
  }

  async inspect(ref: LockRef, signal: AbortSignal): ReturnType<Backend['inspect']> {
    const seen = await inspectLock(await this.#world(ref.name, signal), ref);
    const key = seen === undefined ? ref.name : this.#keyOf(seen);
    // Found under a key of another slot than the name's: then another node answers for it.
    if (seen === undefined || slotOf(key) === slotOf(ref.name)) return seen;
    return inspectLock(await this.#world(key, signal), ref);
  }

  history(ref: LockRef, signal: AbortSignal): ReturnType<Backend['history']> {
    return lockHistory(() => this.#world(ref.name, signal), ref);
  }

  async sample(...args: Parameters<Backend['sample']>): ReturnType<Backend['sample']> {
    const [seen, forMs, signal, onProgress] = args;
    const { connection, reader } = await this.#siteOf(this.#keyOf(seen), signal);
    const conventions = this.#conventions;
    return sampleLease({ connection, reader, conventions, signal }, seen, forMs, onProgress);
  }

  preview(...[seen, how]: Parameters<Backend['preview']>): ReturnType<Backend['preview']> {
    return previewRelease(this.#conventions, seen, how);
  }

  async release(...args: Parameters<Backend['release']>): ReturnType<Backend['release']> {
    const [seen, how, signal] = args;
    await this.#cluster.refresh(signal);
    const { connection, sender, reader } = await this.#siteOf(this.#keyOf(seen), signal);
    const world: ReleaseWorld = {
      connection,
      conventions: this.#conventions,
      reading: { sender, reader },
    };
    return releaseLock(world, seen, how, signal);
  }

  close(): Promise<void> {
    this.#cluster.close();
    return Promise.resolve();
  }

  /** The key whose slot decides: the record's own, which people may know by another name. */
  #keyOf(seen: LockSnapshot): Text {
    return seen.identity === undefined
      ? seen.ref.name
      : readIdentity(seen.identity.record, this.#conventions).record.key;
  }

  async #siteOf(key: Text, signal: AbortSignal): Promise<Site> {
    return this.#site(await this.#cluster.ownerOf(key, signal));
  }

  #site(connection: RedisConnection): Site {
    const sender = new ClusterSender(this.#cluster, connection);
    return { connection, sender, reader: new RecordReader(sender, slotOf) };
  }

  async #world(name: Text, signal: AbortSignal): Promise<InspectWorld> {
    await this.#cluster.map(signal);
    const site = await this.#siteOf(name, signal);
    return {
      ...site,
      conventions: this.#conventions,
      context: await this.#context(site, signal),
      signal,
    };
  }

  async #context({ connection }: Site, signal: AbortSignal): Promise<SnapshotContext> {
    const facts = await readServerFacts(connection, { signal });
    return {
      database: 0,
      runId: valueOf(facts.runId),
      server: { ...toServerView(connection, facts), doubts: this.#cluster.doubts },
      slotOf,
    };
  }
}

/**
 * Pages of one node. A node may also hold keys that it does not serve: one that came ahead of its
 * slot is a lock, and read where it is; a copy that was left behind is none.
 */
class NodeReader extends RecordReader {
  readonly #cluster: Cluster;
  readonly #node: ClusterNode;

  constructor(sender: ClusterSender, cluster: Cluster, node: ClusterNode) {
    super(sender, slotOf);
    this.#cluster = cluster;
    this.#node = node;
  }

  override async page(request: PageRequest, how: RequestOptions): Promise<Page> {
    const page = await super.page(request, how);
    const map = await this.#cluster.map(how.signal);
    const isOwn = ({ key }: RedisRecord): boolean => map.ownerOf(slotOf(key))?.id === this.#node.id;
    const foreign = page.records.filter((record) => !isOwn(record));
    if (foreign.length === 0) return page;
    const ahead: Text[] = [];
    for (const { key } of foreign) if (await this.#isAhead(key, how)) ahead.push(key);
    const elsewhere = await this.keys(ahead, how);
    return { ...page, records: [...page.records.filter(isOwn), ...elsewhere.records] };
  }

  /** Whether the node that serves the slot says of this key that it has gone already. */
  async #isAhead(key: Text, how: RequestOptions): Promise<boolean> {
    const owner = await this.#cluster.ownerOf(key, how.signal);
    const [answer] = await owner.sendAll([['EXISTS', Buffer.from(textToBytes(key))]], how);
    return redirection(answer)?.kind === 'ask';
  }
}

/** The same before and after a failover: made of the ids of all nodes. */
function fingerprint(map: ClusterMap): Probe['clusterId'] {
  const ids = map.nodes.map(({ id }) => id).sort();
  if (ids.length === 0) return unknown('no node serves a slot');
  return known(`nodes-${createHash('sha256').update(ids.join(' ')).digest('hex').slice(0, 12)}`);
}
