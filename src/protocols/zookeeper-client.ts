/**
 * What the ZooKeeper lock clients share: a session for each grant, the paths of locks, outcomes of
 * failures, and telling lock requests apart on the wire.
 */
import { definiteCodes, isSessionExpired } from '../clients/zookeeper/answers.ts';
import { isNodeError, zooKeeperCodes } from '../clients/zookeeper/errors.ts';
import { operations } from '../clients/zookeeper/lean-connection.ts';
import { TargetError } from '../domain/errors.ts';
import type { OwnerToken } from '../domain/holder.ts';
import { displayTarget } from '../domain/target.ts';
import { textToBytes } from '../domain/text.ts';
import { failureOf } from './failure.ts';
import type { AcquireRequest, Grant, ProtocolContext, Reply, WireFormat } from './protocol.ts';
import { LeaseSession } from './zookeeper-lease.ts';

/** One tick, 2000 ms unless configured: sessions end at the tick after their timeout. */
export const tickMs = 2000;

/** Codes of the clients' own refusals and of the server's: the request surely had no effect. */
export const zooKeeperDefiniteCodes: readonly string[] = ['busy', 'not-owner', ...definiteCodes];

/** The node of a lock, as the scenario names it. */
export function lockPath(lock: string): string {
  return `/${lock}`;
}

/** @throws whatever is no FencepostError */
export function failure(error: unknown): Reply<never> {
  return failureOf(error, zooKeeperDefiniteCodes);
}

export function isNoNode(error: unknown): boolean {
  return isNodeError(error, zooKeeperCodes.noNode);
}

export function isNotEmpty(error: unknown): boolean {
  return isNodeError(error, zooKeeperCodes.notEmpty);
}

/** Node or session is gone: whatever was held is held no more. */
export function isOver(error: unknown): boolean {
  return isNoNode(error) || isSessionExpired(error);
}

export const noSession = 'no session of this client acquired the lock for this owner';

/** Makes every node above `path`, and `path` itself, where there is none; persistent and empty. */
export async function makeNodes(session: LeaseSession, path: string): Promise<void> {
  const names = path.split('/').slice(1);
  for (const at of names.keys()) {
    const node = `/${names.slice(0, at + 1).join('/')}`;
    try {
      await session.use((connection) => connection.create(node, Buffer.alloc(0), 'persistent'));
    } catch (error) {
      if (!isNodeError(error, zooKeeperCodes.nodeExists)) throw error;
    }
  }
}

const probeTimeoutMs = 4000;

/**
 * Makes sure that a member takes sessions, and that the target's chroot is there.
 * @throws {FencepostError} as `attach` does @throws {TargetError} `no-chroot`
 */
export async function reachZooKeeper(context: Omit<ProtocolContext, 'mutation'>): Promise<void> {
  const { target } = context;
  const session = await LeaseSession.open(context, probeTimeoutMs);
  try {
    if ((await session.use((connection) => connection.exists('/'))) !== undefined) return;
    const there = displayTarget({ ...target, path: '' });
    throw new TargetError(`chroot "/${target.path}" does not exist on ${there}`, {
      code: 'no-chroot',
      hint: 'leave the path out of the target, or create the node first',
      definite: true,
    });
  } finally {
    await session.close();
  }
}

export type LostListener = (lock: string, reason: string) => void;

/** The sessions of one client: one for each owner of each lock. */
export class Leases {
  readonly #context: ProtocolContext;
  readonly #sessions = new Map<string, LeaseSession>();
  readonly #listeners: LostListener[] = [];
  readonly #ending = new Set<Promise<void>>();

  constructor(context: ProtocolContext) {
    this.#context = context;
  }

  onLost(listener: LostListener): void {
    this.#listeners.push(listener);
  }

  /** The session that this owner acquires, or acquired, the lock with. */
  find({ lock, owner }: OwnerOfLock): LeaseSession | undefined {
    return this.#sessions.get(keyOf(lock, owner));
  }

  /**
   * The owner's session where it has one that may live: what an acquire without an answer made hangs
   * on it. Else a new one.
   * @throws {FencepostError} as `attach` does
   */
  async open(request: AcquireRequest): Promise<{ session: LeaseSession; isNew: boolean }> {
    const known = this.find(request);
    if (known !== undefined && (await isAlive(known))) return { session: known, isNew: false };
    const { lock, owner, leaseMs } = request;
    const session = await LeaseSession.open(this.#context, leaseMs, (reason) => {
      for (const listener of this.#listeners) listener(lock, reason);
    });
    this.#sessions.set(keyOf(lock, owner), session);
    return { session, isNew: true };
  }

  /** Forgets the owner's session and ends it on the server, which need not be waited for. */
  end(owner: OwnerOfLock): void {
    const session = this.#forget(owner);
    if (session === undefined) return;
    const ending = session.close().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  /** Forgets the owner's session and leaves it to its timeout. */
  drop(owner: OwnerOfLock): void {
    this.#forget(owner)?.drop();
  }

  /** Leaves every grant to its timeout. Idempotent. */
  async close(): Promise<void> {
    for (const session of this.#sessions.values()) session.drop();
    this.#sessions.clear();
    await Promise.all(this.#ending);
  }

  #forget({ lock, owner }: OwnerOfLock): LeaseSession | undefined {
    const session = this.find({ lock, owner });
    this.#sessions.delete(keyOf(lock, owner));
    return session;
  }
}

async function isAlive(session: LeaseSession): Promise<boolean> {
  try {
    await session.use((connection) => connection.ping());
    return true;
  } catch (error) {
    if (isSessionExpired(error)) return false;
    throw error;
  }
}

interface OwnerOfLock {
  readonly lock: string;
  readonly owner: OwnerToken;
}

function keyOf(lock: string, owner: OwnerToken): string {
  return JSON.stringify([lock, owner]);
}

/** The grant of an owner whose node is `record`. */
export function grantOf(
  owner: OwnerToken,
  session: LeaseSession,
  record: string,
  fence: bigint | undefined,
): Grant {
  const { timeoutMs: grantedTtlMs, validUntilNs } = session;
  return { owner, fence, grantedTtlMs, validUntilNs, record };
}

/** An owner token as the data of its node. */
export function bytesOf(owner: OwnerToken): Buffer {
  return Buffer.from(textToBytes(owner));
}

/**
 * Reads a request by its operation and its last field: an ephemeral node is an acquire; a look
 * without a watch renews (`exists`) or confirms (`getData`), with one it only waits.
 * @param closing what the end of a session is in this layout
 */
export function zooKeeperWire(closing: 'release' | undefined): WireFormat {
  return {
    framing: 'zookeeper',
    requestAction({ bytes }) {
      const frame = Buffer.from(bytes);
      // A connect request opens with zero where others have their number.
      if (frame.length < 12 || frame.readInt32BE(4) === 0) return undefined;
      const ephemeral = (frame.readInt32BE(frame.length - 4) & 1) === 1;
      const watches = frame.at(-1) === 1;
      switch (frame.readInt32BE(8)) {
        case operations.create:
          return ephemeral ? 'acquire' : undefined;
        case operations.delete:
          return 'release';
        case operations.exists:
          return watches ? undefined : 'renew';
        case operations.getData:
          return watches ? undefined : 'confirm';
        case operations.closeSession:
          return closing;
        default:
          return undefined;
      }
    },
  };
}
