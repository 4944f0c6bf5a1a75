/**
 * Arenas of the release race on ZooKeeper: one ephemeral node under a fixed name, sequential nodes
 * without a GUID under a parent that is created again, and kazoo's names with a GUID. The judge
 * knows owners by the czxid of their node, which no two nodes share.
 */
import { randomUUID } from 'node:crypto';
import { valueOf } from '../../../src/domain/known.ts';
import type { LockDetail } from '../../../src/domain/lock.ts';
import { parseText } from '../../../src/domain/text.ts';
import { attempt, openTarget, RawZooKeeper } from '../zookeeper/zookeeper-seeder.ts';
import { keepTrying, type NaiveRelease, type ReleaseArena, type Round } from './arena.ts';

/** One round's lock, and the first owner's node and session. */
interface Contest {
  /** A node of this round alone: the lock, or the parent of the lock. */
  readonly home: string;
  readonly session: RawZooKeeper;
  /** This round's session ends with its grant. */
  readonly endsWithSession: boolean;
  readonly path: string;
}

/** How one layout is taken, lost and read. Paths are those of single nodes. */
export interface ZooKeeperLayout {
  /** Goes into every name, so that races on one server never meet. */
  readonly id: string;
  /** The lock's name, given the round's own node. */
  name(home: string): string;
  readonly reusesName: boolean;
  readonly refusesWhenTaken?: RegExp;
  /** A deletion by path could hit the next owner's node: only a session's end hits its own alone. */
  readonly endsBySessionOnly: boolean;
  /** @returns the path of the first owner's node */
  take(session: RawZooKeeper, home: string, word: string): Promise<string>;
  /** After the first owner's node has gone. */
  tidy(session: RawZooKeeper, home: string): Promise<void>;
  /** @returns the path of the next owner's node */
  takeNext(session: RawZooKeeper, home: string, word: string): Promise<string>;
  /** The path of the node that holds. */
  holder(judge: RawZooKeeper, home: string): Promise<string | undefined>;
  naive(operator: RawZooKeeper): readonly NaiveRelease[];
}

const plainPath = (home: string): string => `${home}/the-lock`;

/** Whoever creates the node has the lock; each time it begins at version 0. */
export const plainEphemeralLayout: ZooKeeperLayout = {
  id: 'plain',
  name: plainPath,
  reusesName: true,
  endsBySessionOnly: true,
  take: (session, home, word) => session.create(plainPath(home), word, 'ephemeral'),
  tidy: () => Promise.resolve(),
  async takeNext(session, home, word) {
    const path = plainPath(home);
    await keepTrying(path, () => attempt(session.create(path, word, 'ephemeral')));
    return path;
  },
  holder: (_, home) => Promise.resolve(plainPath(home)),
  naive: (operator) => [
    ...removals(operator, ({ ref }) => ref.name),
    {
      title: 'a read that compares its czxid, then a removal at the version read',
      async release({ ref, fence }) {
        const now = await operator.read(ref.name);
        if (now === undefined || fence.kind !== 'token' || now.czxid !== fence.token) return;
        await attempt(operator.remove(ref.name, now.version));
      },
    },
  ],
};

/**
 * The same, but the next owner writes its node in the step that creates it: only a client that drops
 * version 0 deletes that one.
 */
export const writtenEphemeralLayout: ZooKeeperLayout = {
  ...plainEphemeralLayout,
  id: 'written',
  async takeNext(session, home, word) {
    const path = plainPath(home);
    const data = Buffer.from(word);
    await keepTrying(path, () =>
      attempt(session.commit((step) => step.create(path, data, 1).setData(path, data, -1))),
    );
    return path;
  },
  naive: (operator) => [transaction(operator, ({ ref }) => ref.name)],
};

/**
 * `lock-` and a sequence number below a parent that goes with its last contender, and is created
 * again by the next: numbers begin anew, so its node has the very name that was seen.
 */
export const sequentialLayout: ZooKeeperLayout = {
  id: 'sequential',
  name: queueOf,
  reusesName: true,
  refusesWhenTaken: /its parent was created again/,
  // Within one life of the parent no number comes twice.
  endsBySessionOnly: false,
  async take(session, home, word) {
    await createWithParent(session, home, word);
    return firstNumber(home);
  },
  async tidy(session, home) {
    await session.remove(queueOf(home));
  },
  async takeNext(session, home, word) {
    await keepTrying(home, () => attempt(createWithParent(session, home, word)));
    return firstNumber(home);
  },
  holder: firstOf,
  naive: (operator) => removals(operator, seenPath),
};

/** kazoo's `<guid>__lock__<sequence>`. The next owner waits in the queue. */
export const guidLayout: ZooKeeperLayout = {
  id: 'guid',
  name: queueOf,
  reusesName: false,
  endsBySessionOnly: false,
  async take(session, home, word) {
    await session.create(queueOf(home), '');
    return enterAsKazoo(session, home, word);
  },
  tidy: () => Promise.resolve(),
  async takeNext(session, home, word) {
    const path = await enterAsKazoo(session, home, word);
    const name = path.slice(path.lastIndexOf('/') + 1);
    await keepTrying(path, async () => {
      const queue = await inOrder(session, home);
      // Gone from the queue: somebody deleted it, and the judge will see that.
      return queue[0] === name || !queue.includes(name);
    });
    return path;
  },
  holder: firstOf,
  naive: (operator) => [
    {
      title: 'a removal of whoever is the first in the queue',
      async release({ ref }) {
        const home = ref.name.slice(0, ref.name.lastIndexOf('/'));
        const first = await firstOf(operator, home);
        if (first !== undefined) await attempt(operator.remove(first));
      },
    },
  ],
};

/** In one step, so that the next owner comes as soon as the parent has gone. */
function createWithParent(session: RawZooKeeper, home: string, word: string): Promise<void> {
  const [parent, data] = [queueOf(home), Buffer.from(word)];
  return session.commit((step) => step.create(parent, 0).create(`${parent}/lock-`, data, 3));
}

function firstNumber(home: string): string {
  return `${queueOf(home)}/lock-0000000000`;
}

function queueOf(home: string): string {
  return `${home}/lock`;
}

function enterAsKazoo(session: RawZooKeeper, home: string, word: string): Promise<string> {
  const guid = randomUUID().replaceAll('-', '');
  return session.create(`${queueOf(home)}/${guid}__lock__`, word, 'ephemeral-sequential');
}

/** Names of the contenders by their sequence numbers. */
async function inOrder(session: RawZooKeeper, home: string): Promise<readonly string[]> {
  const names = await session.children(queueOf(home));
  return [...names].sort((a, b) => Number(a.slice(-10)) - Number(b.slice(-10)));
}

async function firstOf(session: RawZooKeeper, home: string): Promise<string | undefined> {
  const [first] = await inOrder(session, home);
  return first === undefined ? undefined : `${queueOf(home)}/${first}`;
}

/** What an operator reads off the screen. */
function seenPath({ ref, holders }: LockDetail): string {
  const name = valueOf(holders)?.[0]?.record;
  if (name === undefined) throw new Error('the lock was shown without its node');
  return `${ref.name}/${name}`;
}

type PathOf = (seen: LockDetail) => string;

function removals(operator: RawZooKeeper, pathOf: PathOf): readonly NaiveRelease[] {
  return [
    {
      title: 'a removal at version 0',
      release: (seen) => attempt(operator.remove(pathOf(seen), 0)),
    },
    {
      title: 'a removal at any version',
      release: (seen) => attempt(operator.remove(pathOf(seen), -1)),
    },
    transaction(operator, pathOf),
  ];
}

/** node-zookeeper-client 1.1.3 sends -1, any version, for 0 in both. */
function transaction(operator: RawZooKeeper, pathOf: PathOf): NaiveRelease {
  return {
    title: 'a transaction of the client that checks and removes version 0',
    release(seen) {
      const path = pathOf(seen);
      return attempt(operator.commit((step) => step.check(path, 0).remove(path, 0)));
    },
  };
}

/** Opens the arena of one layout on the ZooKeeper at `url`. */
export async function openZooKeeperArena(
  url: string,
  layout: ZooKeeperLayout,
): Promise<ReleaseArena> {
  const backend = await openTarget(url);
  const open = (): Promise<RawZooKeeper> => RawZooKeeper.open(url);
  const [owners, takers, judge, operator] = await Promise.all([open(), open(), open(), open()]);
  const contests = new Map<string, Contest>();
  const owner = new Map<bigint, string>();
  const contest = (name: string): Contest => {
    const found = contests.get(name);
    if (found === undefined) throw new Error(`nobody took ${name}`);
    return found;
  };
  const root = `/race/${layout.id}`;
  await judge.makePath(root);
  const homeOf = (round: number): string => `${root}/${round}`;
  return {
    reusesName: () => layout.reusesName,
    ...(layout.refusesWhenTaken && { refusesWhenTaken: layout.refusesWhenTaken }),
    backend,
    ref: (round) => ({ name: parseText(layout.name(homeOf(round))) }),
    async take({ name }, word, { number, ends }: Round) {
      const home = homeOf(number);
      const endsWithSession = layout.endsBySessionOnly || ends === 'expiry';
      const session = endsWithSession ? await open() : owners;
      await owners.create(home, '');
      const path = await layout.take(session, home, word);
      contests.set(name, { home, session, endsWithSession, path });
    },
    async lose({ name }) {
      const { home, session, endsWithSession, path } = contest(name);
      if (endsWithSession) await session.close();
      else await attempt(session.remove(path));
      await layout.tidy(owners, home);
    },
    async takeNext({ name }, word) {
      const path = await layout.takeNext(takers, contest(name).home, word);
      const mine = await takers.read(path);
      if (mine !== undefined) owner.set(mine.czxid, word);
    },
    async readRecord({ name }) {
      const path = await layout.holder(judge, contest(name).home);
      const now = path === undefined ? undefined : await judge.read(path);
      if (now === undefined) return undefined;
      const word = owner.get(now.czxid) ?? 'somebody unknown';
      return { owner: word, intact: now.data === word };
    },
    naive: layout.naive(operator),
    async close() {
      await backend.close();
      await Promise.all([owners, takers, judge, operator].map((one) => one.close()));
    },
  };
}
