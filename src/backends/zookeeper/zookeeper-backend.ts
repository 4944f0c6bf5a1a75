/** The ZooKeeper adapter. Reading is complete; releasing is not built yet, and refused as such. */
import type { Backend, BackendOptions, ListTally } from '../backend.ts';
import { ConventionSet } from '../../conventions/convention-set.ts';
import { zookeeperConventions } from '../../conventions/zookeeper-index.ts';
import type { FenceRecord } from '../../domain/fence.ts';
import { known, unknown, valueOf } from '../../domain/known.ts';
import type { LockDetail, LockRef, LockSnapshot } from '../../domain/lock.ts';
import type { Ability, Probe } from '../../domain/probe.ts';
import type { ReleasePreview, ReleaseResult } from '../../domain/release.ts';
import { displayTarget, type Target } from '../../domain/target.ts';
import { stringToText } from '../../domain/text.ts';
import { openSession, type Session } from '../../clients/zookeeper/session.ts';
import { fourLetterWord } from '../../clients/zookeeper/four-letter-words.ts';
import { inspectLock, serverView, type InspectWorld } from './inspect.ts';
import { listLocks } from './list.ts';
import { rateLimiter } from './rate.ts';
import { sampleSession } from './sample.ts';

const notBuilt = {
  can: false,
  reason: 'releasing on ZooKeeper is not built yet',
  remedy: 'delete the node by hand, at the version and czxid that you saw',
} as const satisfies Ability;

const sessionTimeoutMs = 10_000;
/** Members are asked beside the session; a filtered port must not hold up the answer. */
const memberTimeoutMs = 1_500;

/** Opens the adapter; it connects with the first request. */
export function openZooKeeperBackend(target: Target, options: BackendOptions): Promise<Backend> {
  const { session, closeSession } = lazySession(target, options);
  const conventions = new ConventionSet(options.conventions?.zookeeper ?? [], zookeeperConventions);
  const world = async (): Promise<InspectWorld> => ({
    session: await session(),
    target,
    server: serverView(target),
    conventions,
    timeoutMs: memberTimeoutMs,
  });
  const inspect = async (ref: LockRef, signal: AbortSignal): Promise<LockDetail | undefined> => {
    signal.throwIfAborted();
    return inspectLock(await world(), ref);
  };
  return Promise.resolve({
    kind: 'zookeeper',
    display: displayTarget(target),
    probe: async () => {
      await session();
      return probe(target);
    },
    list(query, signal) {
      const tally: ListTally = { read: 0, others: 0, hidden: 0, holes: [] };
      const locks = async function* () {
        const { session: connected, server } = await world();
        const admit = rateLimiter(query.ratePerSecond, signal);
        yield* listLocks({ session: connected, server, conventions, admit }, query, tally, signal);
      };
      return { locks: locks(), tally };
    },
    inspect,
    history: (ref, signal) => ({
      records: presentContenders(() => inspect(ref, signal)),
      completeness: () =>
        unknown('ZooKeeper keeps no past holders: only present contenders are known'),
    }),
    sample: async (seen, forMs, signal, onProgress) =>
      sampleSession(await world(), seen, forMs, signal, onProgress),
    preview: notReleasable,
    release: refuse,
    close: closeSession,
  });
}

/** One session, opened when needed and again after it was lost: reads may be repeated. */
function lazySession(
  target: Target,
  options: BackendOptions,
): { session: () => Promise<Session>; closeSession: () => Promise<void> } {
  let open: Promise<Session> | undefined;
  let live: Session | undefined;
  const session = async (): Promise<Session> => {
    if (live?.lost !== undefined) [open, live] = [undefined, undefined];
    open ??= openSession(target, { ...options, sessionTimeoutMs });
    try {
      live = await open;
      return live;
    } catch (error) {
      open = undefined;
      throw error;
    }
  };
  const closeSession = async (): Promise<void> => {
    await live?.close();
    [open, live] = [undefined, undefined];
  };
  return { session, closeSession };
}

function notReleasable(seen: LockSnapshot): ReleasePreview {
  return {
    deletes: [],
    wakes: [],
    next: unknown(notBuilt.reason),
    raisesFence: undefined,
    atomicity: 'nothing would be done',
    alsoFalls: known([]),
    warnings: seen.identity === undefined ? ['nobody holds it'] : [],
    possible: notBuilt,
  };
}

function refuse(): Promise<ReleaseResult> {
  const { reason, remedy } = notBuilt;
  const reply = 'nothing was sent';
  return Promise.resolve({ outcome: 'refused', reply, fenceRaisedTo: undefined, reason, remedy });
}

async function probe(target: Target): Promise<Probe> {
  const answers = await Promise.all(
    target.endpoints.map((_, index) => fourLetterWord(target, index, 'srvr', memberTimeoutMs)),
  );
  const texts = answers.flatMap((one) => valueOf(one) ?? []);
  const [first] = texts;
  const hole = answers.find((one) => one.kind === 'unknown') ?? unknown('no member answered');
  const version = /Zookeeper version: (\d+(?:\.\d+)*)/.exec(first ?? '')?.[1];
  const modes = texts.flatMap((text) => /^Mode: (\w+)/m.exec(text)?.[1] ?? []);
  const led = modes.some((mode) => mode === 'leader' || mode === 'standalone');
  return {
    version: version === undefined ? hole : known(`ZooKeeper ${version}`),
    topology: known(
      target.endpoints.length === 1 ? 'one member' : `${target.endpoints.length} members`,
    ),
    clusterId: unknown('ZooKeeper has no cluster id'),
    server: serverView(target),
    writable: { can: true },
    healthy:
      modes.length === 0
        ? unknown('no member tells its mode', 'allow the four-letter word srvr')
        : known(
            led ? { can: true } : { can: false, reason: `no leader seen: ${modes.join(', ')}` },
          ),
    clockOffsetMs: unknown('ZooKeeper does not tell its clock'),
    capabilities: {
      release: notBuilt,
      hold: notBuilt,
      endSession: { can: false, reason: "closing the owner's session needs its password" },
      history: { can: false, reason: 'ZooKeeper keeps no past holders' },
      clients: { can: true },
      waiters: { can: true },
    },
  };
}

async function* presentContenders(
  inspect: () => Promise<LockDetail | undefined>,
): AsyncGenerator<FenceRecord> {
  const lock = await inspect();
  if (lock === undefined) return;
  for (const holder of valueOf(lock.holders) ?? []) {
    yield {
      fence: lock.fence,
      owner: known(holder.owner),
      ...(holder.record === undefined ? {} : { record: holder.record }),
      grantedAt: unknown('ZooKeeper does not record when a waiter became the holder'),
      ended: { how: 'holding' },
      source: 'present contenders',
    };
  }
  if (lock.waiters.kind !== 'exact') return;
  for (const waiter of lock.waiters.list) {
    yield {
      fence: { kind: 'unknown', reason: 'it has not been granted the lock' },
      owner: known(waiter.owner ?? waiter.record ?? stringToText('')),
      ...(waiter.record === undefined ? {} : { record: waiter.record }),
      grantedAt: unknown('it waits'),
      ended: { how: 'waiting' },
      source: 'present contenders',
    };
  }
}
