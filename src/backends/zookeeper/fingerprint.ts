/**
 * ZooKeeper has no cluster id. What tells one ensemble from another is its membership and its oldest
 * node: czxid and creation time never change, and are the same on every member.
 */
import { createHash } from 'node:crypto';
import { known, unknown, type Known } from '../../domain/known.ts';
import { isNodeError, isRefused, zooKeeperCodes } from '../../clients/zookeeper/errors.ts';
import type { NodeStat, Session } from '../../clients/zookeeper/session.ts';
import { childPath } from './records.ts';

export interface EnsembleConfig {
  /** Lines `server.N=…` of the dynamic configuration; empty for a standalone server. */
  readonly members: readonly string[];
}

/** Undefined where it cannot be read: below a chroot, or hidden by an ACL. */
export async function readConfig(
  session: Session,
  chroot: string,
): Promise<EnsembleConfig | undefined> {
  if (chroot !== '') return undefined;
  const config = await orNothing(session.getData('/zookeeper/config'));
  if (config === undefined) return undefined;
  const lines = config.data.toString('utf8').split('\n');
  return { members: lines.filter((line) => line.startsWith('server.')) };
}

/** 48 bits over membership and oldest node, in hex. */
export async function readFingerprint(
  session: Session,
  chroot: string,
  config: EnsembleConfig | undefined,
): Promise<Known<string>> {
  const oldest = chroot === '' ? await oldestNode(session) : await session.exists('/');
  if (oldest === undefined) {
    return unknown('no lasting node below / tells this ensemble from another');
  }
  const facts = [config?.members ?? [], String(oldest.czxid), oldest.ctimeMs];
  const hash = createHash('sha256').update(JSON.stringify(facts)).digest('hex');
  return known(hash.slice(0, 12));
}

/** Nodes below the root are few; of very many, the first by name will do. */
const nodesLookedAt = 100;

async function oldestNode(session: Session): Promise<NodeStat | undefined> {
  const root = await orNothing(session.getChildren('/'));
  const names = (root?.children ?? []).filter((name) => name !== 'zookeeper').sort();
  const stats = await Promise.all(
    names.slice(0, nodesLookedAt).map((name) => session.exists(childPath('/', name))),
  );
  return stats
    .flatMap((stat) => (stat?.ephemeralOwner === 0n ? [stat] : []))
    .reduce<NodeStat | undefined>(
      (oldest, stat) => (oldest === undefined || stat.czxid < oldest.czxid ? stat : oldest),
      undefined,
    );
}

/** Undefined when there is no such node, or this identity may not read it. */
async function orNothing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isRefused(error) || isNodeError(error, zooKeeperCodes.noNode)) return undefined;
    throw error;
  }
}
