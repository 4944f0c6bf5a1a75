/** The adapter of independent servers that share their locks by majority (Redlock). */
import pLimit from 'p-limit';
import { createHash } from 'node:crypto';
import { ConventionSet } from '../../conventions/convention-set.ts';
import { redisConventions } from '../../conventions/redis-index.ts';
import { FencepostError, TargetError } from '../../domain/errors.ts';
import type { FenceRecord } from '../../domain/fence.ts';
import { defaultLockPatterns, globMatcher } from '../../domain/glob.ts';
import { known, unknown, valueOf, type Known } from '../../domain/known.ts';
import type { RenewalSample } from '../../domain/lease.ts';
import type { LockDetail, LockRef, LockSnapshot } from '../../domain/lock.ts';
import type { Probe } from '../../domain/probe.ts';
import type { ReleasePreview, ReleaseResult } from '../../domain/release.ts';
import { displayTarget, type Target } from '../../domain/target.ts';
import type { Backend, BackendOptions, ListTally, LockHistory, LockQuery } from '../backend.ts';
import { flatten } from '../streams.ts';
import { interrupted, RedisConnection } from './connection.ts';
import { tolerated } from './errors.ts';
import { inspectLock } from './inspect.ts';
import { listLocks } from './list.ts';
import { probeServer } from './probe.ts';
import { RecordReader } from './reader.ts';
import { recognise, type RedisConventions } from './recognise.ts';
import {
  grantOn,
  joinOutcomes,
  previewRedlock,
  unreached,
  type NodeOutcome,
} from './redlock-release.ts';
import { combine, lineOf, majorityOf, readRedlockIdentity, type NodeView } from './redlock-view.ts';
import { releaseLock } from './release.ts';
import { sampleLease } from './sample.ts';
import { readServerFacts, toServerView } from './server-view.ts';
import { toSnapshot, type SnapshotContext } from './snapshot.ts';

/** Opens nothing yet. @throws {UsageError} on a bad database or TLS file */
export function openRedlockBackend(target: Target, options: BackendOptions): Promise<Backend> {
  return Promise.resolve(new RedlockBackend(target, options));
}

/** One of the servers. */
interface Member {
  readonly endpoint: string;
  readonly connection: RedisConnection;
  readonly reader: RecordReader;
}

const isLockName = globMatcher(defaultLockPatterns);
/** Locks of a page that are looked up on the other servers at once. */
const atOnce = 64;

class RedlockBackend implements Backend {
  readonly kind = 'redlock';
  readonly display: string;
  readonly #members: readonly Member[];
  readonly #conventions: RedisConventions;

  constructor(target: Target, options: BackendOptions) {
    this.display = displayTarget(target);
    this.#conventions = new ConventionSet(
      options.conventions?.redis ?? [],
      redisConventions,
      options.onlyConventions,
    );
    this.#members = target.endpoints.map((endpoint) => {
      const server: Target = { ...target, kind: 'redis', endpoints: [endpoint] };
      const connection = new RedisConnection(server, options);
      return { endpoint: connection.endpoint, connection, reader: new RecordReader(connection) };
    });
  }

  async probe(signal: AbortSignal): Promise<Probe> {
    const probes = await this.#each(({ connection }) => probeServer(connection, signal));
    const living = probes.flatMap((one) => (one instanceof FencepostError ? [] : [one]));
    const [first] = living;
    if (first === undefined) throw probes[0] instanceof Error ? probes[0] : interrupted();
    const total = this.#members.length;
    const down = probes.flatMap((one) => (one instanceof FencepostError ? [one.message] : []));
    const ids = living.map(({ clusterId }) => valueOf(clusterId));
    const unwritable = living.find(({ writable }) => !writable.can)?.writable;
    const offsets = living.flatMap(({ clockOffsetMs }) => valueOf(clockOffsetMs) ?? []);
    return {
      ...first,
      topology: known(`${total} independent servers, ${living.length} answer`),
      clusterId: ids.includes(undefined)
        ? unknown('INFO was refused', 'needs +info')
        : known(`servers-${createHash('sha256').update(ids.join(' ')).digest('hex').slice(0, 12)}`),
      server: {
        ...first.server,
        endpoint: this.#members.map(({ endpoint }) => endpoint).join(','),
        doubts: down,
      },
      writable: unwritable ?? first.writable,
      healthy: known(
        down.length === 0
          ? { can: true }
          : { can: false, reason: `${down.length} of ${total} servers: ${down[0] ?? ''}` },
      ),
      clockOffsetMs:
        offsets.length === 0
          ? first.clockOffsetMs
          : known(offsets.reduce((most, one) => (Math.abs(one) > Math.abs(most) ? one : most))),
    };
  }

  list(query: LockQuery, signal: AbortSignal): ReturnType<Backend['list']> {
    const tally: ListTally = { read: 0, others: 0, hidden: 0, holes: [] };
    return { locks: flatten(this.#pages(query, tally, signal)), tally };
  }

  /** Walks one server after the other; each lock is shown with the first that has it. */
  async *#pages(
    query: LockQuery,
    tally: ListTally,
    signal: AbortSignal,
  ): AsyncGenerator<readonly LockSnapshot[]> {
    const failures: FencepostError[] = [];
    for (const [index, member] of this.#members.entries()) {
      try {
        for await (const page of this.#walk(member, query, tally, signal)) {
          const refs = page.map(({ ref }) => ref);
          const combined = await this.#combined(refs, index, signal);
          if (combined.length > 0) yield combined;
        }
      } catch (error) {
        const failure = tolerated(error);
        failures.push(failure);
        if (failures.length === this.#members.length) throw failure;
        tally.holes.push(`${member.endpoint}: ${failure.message}`);
      }
    }
  }

  #walk(
    member: Member,
    query: LockQuery,
    tally: ListTally,
    signal: AbortSignal,
  ): AsyncGenerator<readonly LockSnapshot[]> {
    const { connection, reader } = member;
    const context = (): Promise<SnapshotContext> => contextOf(member, signal);
    const world = { sender: connection, reader, conventions: this.#conventions, context };
    return listLocks(world, query, tally, signal);
  }

  /** What all servers have of these; those that an earlier server has were shown with it. */
  async #combined(
    refs: readonly LockRef[],
    walked: number,
    signal: AbortSignal,
  ): Promise<readonly LockSnapshot[]> {
    const limit = pLimit(atOnce);
    const contexts = await this.#each((member) => contextOf(member, signal));
    const found = await Promise.all(
      refs.map((ref) => limit(() => this.#views(ref, contexts, signal))),
    );
    return found.flatMap((views) => {
      const first = views.findIndex(({ kind }) => kind === 'has');
      const lock = first < walked ? undefined : combine(views);
      return lock === undefined ? [] : [lock];
    });
  }

  #views(
    ref: LockRef,
    contexts: readonly (SnapshotContext | FencepostError)[],
    signal: AbortSignal,
  ): Promise<readonly NodeView[]> {
    return Promise.all(
      this.#members.map(async (member, index): Promise<NodeView> => {
        const { endpoint } = member;
        const context = contexts[index] ?? interrupted();
        if (context instanceof FencepostError) {
          return { kind: 'unread', endpoint, why: context.message };
        }
        try {
          const lock = await this.#read(member, ref, context, signal);
          return lock === undefined ? { kind: 'lacks', endpoint } : { kind: 'has', endpoint, lock };
        } catch (error) {
          return { kind: 'unread', endpoint, why: tolerated(error).message };
        }
      }),
    );
  }

  async #look(ref: LockRef, signal: AbortSignal): Promise<readonly NodeView[]> {
    return this.#views(ref, await this.#each((member) => contextOf(member, signal)), signal);
  }

  /** The bare record: what belongs to a lock besides is not shared among the servers. */
  async #read(
    member: Member,
    ref: LockRef,
    context: SnapshotContext,
    signal: AbortSignal,
  ): Promise<LockSnapshot | undefined> {
    const forced =
      ref.convention === undefined ? undefined : this.#conventions.byId(ref.convention);
    const key = forced?.keyOf?.(ref.name) ?? ref.name;
    const [record] = (await member.reader.keys([key], { signal })).records;
    if (record === undefined || record.type === 'none') return undefined;
    const recognised =
      forced === undefined
        ? recognise(record, isLockName, this.#conventions)
        : { convention: forced, confidence: 'high' as const, candidates: [], forced: true };
    return toSnapshot(context, record, recognised);
  }

  async inspect(ref: LockRef, signal: AbortSignal): Promise<LockDetail | undefined> {
    const views = await this.#look(ref, signal);
    const lock = combine(views);
    if (lock === undefined) {
      const unread = views.filter((view) => view.kind === 'unread');
      if (unread.length < majorityOf(views.length)) return undefined;
      throw this.#tooManyUnread(unread.map(({ why }) => why));
    }
    const at = views.findIndex(({ kind }) => kind === 'has');
    const member = this.#members[at];
    const detail = member && (await this.#detail(member, ref, signal));
    const facts = views.map((view): [string, string] => [`server ${view.endpoint}`, lineOf(view)]);
    return {
      ...lock,
      evidence: detail?.evidence ?? [],
      facts: { ...detail?.facts, ...Object.fromEntries(facts) },
    };
  }

  /** Where a majority may have it, nobody can say that it is gone. */
  #tooManyUnread(whys: readonly string[]): TargetError {
    return new TargetError(
      `${whys.length} of ${this.#members.length} servers of ${this.display} cannot be read: ${whys[0] ?? ''}`,
      {
        code: 'target-unreachable',
        hint: 'a majority must answer before a lock can be called free',
        definite: true,
      },
    );
  }

  async #detail(
    member: Member,
    ref: LockRef,
    signal: AbortSignal,
  ): Promise<LockDetail | undefined> {
    const { connection: sender, reader } = member;
    const context = await contextOf(member, signal);
    return inspectLock({ sender, reader, conventions: this.#conventions, context, signal }, ref);
  }

  history(ref: LockRef, signal: AbortSignal): LockHistory {
    const views = (): Promise<readonly NodeView[]> => this.#look(ref, signal);
    const none: Known<string> = unknown(
      'Redis keeps no history of this layout: only the present holder is known',
    );
    return { records: presentHolders(views), completeness: () => none };
  }

  /** On the servers that have it: it is renewed when a majority of them was. */
  async sample(...args: Parameters<Backend['sample']>): Promise<RenewalSample> {
    const [seen, forMs, signal, onProgress] = args;
    if (seen.identity === undefined) return this.#sampleOne(seen, args);
    const { nodes, grants } = readRedlockIdentity(seen.identity.record);
    const samples = await Promise.all(
      grants.flatMap((grant) => {
        const member = this.#memberAt(grant.endpoint);
        return member === undefined
          ? []
          : [this.#sampleOn(member, grantOn(seen, grant), [forMs, signal, onProgress])];
      }),
    );
    const renewed = samples.filter(({ outcome }) => outcome === 'renewed');
    const rest = samples.filter(({ outcome }) => outcome !== 'renewed');
    const shown = renewed.length >= majorityOf(nodes) ? renewed[0] : (rest[0] ?? renewed[0]);
    if (shown === undefined) return this.#sampleOne(seen, args);
    return { ...shown, note: `${shown.note} (renewed on ${renewed.length} of ${nodes} servers)` };
  }

  #sampleOne(seen: LockSnapshot, args: Parameters<Backend['sample']>): Promise<RenewalSample> {
    const [member] = this.#members;
    if (member === undefined) throw interrupted();
    const [, forMs, signal, onProgress] = args;
    return this.#sampleOn(member, { ...seen, identity: undefined }, [forMs, signal, onProgress]);
  }

  #sampleOn(
    { connection, reader }: Member,
    seen: LockSnapshot,
    [forMs, signal, onProgress]: readonly [
      number | 'auto',
      AbortSignal,
      Parameters<Backend['sample']>[3],
    ],
  ): Promise<RenewalSample> {
    const conventions = this.#conventions;
    return sampleLease({ connection, reader, conventions, signal }, seen, forMs, onProgress);
  }

  preview(...[seen, how]: Parameters<Backend['preview']>): ReleasePreview {
    return previewRedlock(this.#conventions, seen, how);
  }

  async release(...args: Parameters<Backend['release']>): Promise<ReleaseResult> {
    const [seen, how, signal] = args;
    const { possible } = this.preview(seen, how);
    if (!possible.can || seen.identity === undefined) {
      const { reason } = possible.can ? { reason: 'there is no record to release' } : possible;
      return { outcome: 'refused', reason, reply: 'nothing was sent', fenceRaisedTo: undefined };
    }
    const { nodes, grants } = readRedlockIdentity(seen.identity.record);
    const outcomes = await Promise.all(
      this.#members.map(async (member): Promise<NodeOutcome> => {
        const { endpoint, connection } = member;
        const grant = grants.find((one) => one.endpoint === endpoint);
        try {
          if (grant === undefined) return await this.#without(member, seen, grants, signal);
          const world = { connection, conventions: this.#conventions };
          return { endpoint, result: await releaseLock(world, grantOn(seen, grant), how, signal) };
        } catch (error) {
          return unreached(endpoint, error);
        }
      }),
    );
    return joinOutcomes(nodes, outcomes);
  }

  /** A server without the grant when it was seen: it may have got it since. */
  async #without(
    member: Member,
    seen: LockSnapshot,
    grants: readonly { readonly expect: string }[],
    signal: AbortSignal,
  ): Promise<NodeOutcome> {
    const { endpoint } = member;
    const now = await this.#read(member, seen.ref, await contextOf(member, signal), signal);
    if (now?.identity === undefined || now.identity.expect !== grants[0]?.expect) {
      return { endpoint, result: { outcome: 'lacks' } };
    }
    const reason = 'it has the grant now and had not when it was seen: plan again';
    return {
      endpoint,
      result: { outcome: 'refused', reason, reply: 'nothing was sent', fenceRaisedTo: undefined },
    };
  }

  close(): Promise<void> {
    for (const { connection } of this.#members) connection.close();
    return Promise.resolve();
  }

  #memberAt(endpoint: string): Member | undefined {
    return this.#members.find((member) => member.endpoint === endpoint);
  }

  #each<T>(ask: (member: Member) => Promise<T>): Promise<(T | FencepostError)[]> {
    return Promise.all(this.#members.map((member) => ask(member).catch(tolerated)));
  }
}

async function contextOf({ connection }: Member, signal: AbortSignal): Promise<SnapshotContext> {
  const facts = await readServerFacts(connection, { signal });
  return {
    database: connection.database,
    runId: valueOf(facts.runId),
    server: toServerView(connection, facts),
  };
}

async function* presentHolders(
  views: () => Promise<readonly NodeView[]>,
): AsyncGenerator<FenceRecord> {
  const lock = combine(await views());
  if (lock === undefined) return;
  for (const holder of valueOf(lock.holders) ?? []) {
    yield {
      fence: lock.fence,
      owner: known(holder.owner),
      grantedAt: unknown('the record does not say since when'),
      ended: { how: 'holding' },
      source: 'present record',
    };
  }
}
