/**
 * What an operator can do to a ZooKeeper lock past its holder: delete its node, or end its session.
 * A session is ended by a second connection with its id and password, which the servers derive from
 * the id alone.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isConnectionLost, isSessionExpired } from '../clients/zookeeper/answers.ts';
import { attach } from '../clients/zookeeper/lean-attach.ts';
import type { SessionIdentity } from '../clients/zookeeper/lean-connection.ts';
import type { OwnerToken } from '../domain/holder.ts';
import { bytesToText } from '../domain/text.ts';
import type { Intervention, InterventionName, ProtocolContext, ServerShown } from './protocol.ts';
import { isNoNode, lockPath } from './zookeeper-client.ts';
import type { ZooKeeperLayout } from './zookeeper-follow.ts';
import { LeaseSession } from './zookeeper-lease.ts';

type Context = Omit<ProtocolContext, 'mutation'>;

interface Held {
  readonly path: string;
  readonly session: bigint;
}

type Act = (own: LeaseSession, held: Held, context: Context) => Promise<ServerShown>;

const sessionMs = 10_000;
/** The holder's client takes its session back at once: it may be faster than our closing. */
const attempts = 20;
const pauseMs = 50;

/** Both, for a layout. */
export function zooKeeperInterventions(
  layout: ZooKeeperLayout,
): Readonly<Partial<Record<InterventionName, Intervention>>> {
  const on =
    (act: Act): Intervention =>
    async (context, lock, owner) => {
      const own = await LeaseSession.open(context, sessionMs);
      try {
        const held = await find(own, layout, lockPath(lock), owner);
        return held === undefined ? undefined : await act(own, held, context);
      } finally {
        await own.close();
      }
    };
  return { 'remove-record': on(removeNode), 'expire-session': on(endSession) };
}

async function find(
  own: LeaseSession,
  layout: ZooKeeperLayout,
  lock: string,
  owner: OwnerToken,
): Promise<Held | undefined> {
  try {
    const paths =
      layout === 'node'
        ? [lock]
        : (await own.use((connection) => connection.getChildren(lock))).children.map(
            (name) => `${lock}/${name}`,
          );
    for (const path of paths) {
      const { data, stat } = await own.use((connection) => connection.getData(path));
      if (bytesToText(data) === owner) return { path, session: stat.ephemeralOwner };
    }
    return undefined;
  } catch (error) {
    if (isNoNode(error)) return undefined;
    throw error;
  }
}

/** Its session is left alone: to ask for it would be to take it away from its holder. */
async function removeNode(own: LeaseSession, { path }: Held): Promise<ServerShown> {
  await own.use((connection) => connection.remove(path, -1));
  const gone = (await own.use((connection) => connection.exists(path))) === undefined;
  return {
    fact: `node ${gone ? 'gone' : 'still there'}`,
    proves: 'the node was removed by somebody else',
    holds: gone,
  };
}

async function endSession(own: LeaseSession, held: Held, context: Context): Promise<ServerShown> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    if (!(await closeOnce(held, context))) break;
  }
  const lives = await sessionLives(held, context);
  const gone = (await own.use((connection) => connection.exists(held.path))) === undefined;
  return {
    fact: `session 0x${held.session.toString(16)} ${lives ? 'lives' : 'is expired'}, its node ${gone ? 'gone' : 'still there'}`,
    proves: 'the server ended the session, and its node went with it',
    holds: gone && !lives,
  };
}

function identityOf({ session }: Held): SessionIdentity {
  return { id: session, password: sessionPassword(session) };
}

/** @returns whether the session may live on */
async function closeOnce(held: Held, context: Context): Promise<boolean> {
  try {
    const connection = await takeUp(held, context);
    await connection.closeSession();
    connection.drop('closed');
    return false;
  } catch (error) {
    // Taken back by its holder meanwhile, the connection ends without an answer.
    return !isSessionExpired(error);
  }
}

function takeUp(held: Held, context: Context): ReturnType<typeof attach> {
  return attach({ ...context, session: identityOf(held), wishMs: sessionMs, lastZxid: 0n });
}

/** Asks by taking the session up. While a member closes it, it turns everybody away for a moment. */
async function sessionLives(held: Held, context: Context): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      (await takeUp(held, context)).drop('asked');
      return true;
    } catch (error) {
      if (isSessionExpired(error)) return false;
      if (!isConnectionLost(error) || attempt === attempts) throw error;
      await sleep(pauseMs);
    }
  }
}

const passwordBytes = 16;
const mask = (1n << 48n) - 1n;

/**
 * What java.util.Random gives for the id and a constant of the servers.
 * @see apache/zookeeper ZooKeeperServer.generatePasswd: superSecret 0xB3415C00
 */
function sessionPassword(id: bigint): Buffer {
  let state = (BigInt.asUintN(64, id) ^ 0xb3415c00n ^ 0x5deece66dn) & mask;
  const password = Buffer.alloc(passwordBytes);
  for (let at = 0; at < passwordBytes; at += 4) {
    state = (state * 0x5deece66dn + 0xbn) & mask;
    password.writeUInt32LE(Number(state >> 16n), at);
  }
  return password;
}
