/**
 * Walks the node tree with a bounded number of requests in flight and hands out parents whose
 * children look like contenders. Contenders themselves are not descended into.
 */
import type { NodeStat, Session } from '../../clients/zookeeper/session.ts';
import {
  interrupted,
  isNodeError,
  isRefused,
  zooKeeperCodes,
} from '../../clients/zookeeper/errors.ts';
import { childPath } from './records.ts';

/** Requests in flight while walking: more gained nothing when measured, fewer was slower. */
export const walkConcurrency = 64;

export interface WalkedNode {
  readonly path: string;
  readonly children: readonly string[];
  readonly stat: NodeStat;
}

export interface WalkOptions {
  readonly root: string;
  /** Whether this child's own children are to be looked at. */
  descend(parent: WalkedNode, child: string): boolean;
  /** Called once a node that may not be listed. */
  onHidden(path: string): void;
  /** Waits until the rate limit admits another request. */
  admit(): Promise<void>;
}

/**
 * Yields every node below `root`, itself included, in no particular order. Memory holds the names
 * not yet visited, and at most `walkConcurrency` answers.
 */
export async function* walk(
  session: Session,
  options: WalkOptions,
  signal: AbortSignal,
): AsyncGenerator<WalkedNode> {
  const frontier = [options.root];
  const inFlight = new Set<Promise<void>>();
  const ready: WalkedNode[] = [];
  let failure: unknown;
  const visit = async (path: string): Promise<void> => {
    await options.admit();
    const node = await look(session, path, options);
    if (node === undefined) return;
    for (const child of node.children) {
      if (options.descend(node, child)) frontier.push(childPath(path, child));
    }
    ready.push(node);
  };
  while (frontier.length > 0 || inFlight.size > 0 || ready.length > 0) {
    if (signal.aborted) throw interrupted();
    if (failure !== undefined) throw failure as Error;
    while (inFlight.size < walkConcurrency && ready.length < walkConcurrency) {
      const next = frontier.pop();
      if (next === undefined) break;
      const task: Promise<void> = visit(next)
        .catch((error: unknown) => {
          failure ??= error;
        })
        .finally(() => inFlight.delete(task));
      inFlight.add(task);
    }
    const node = ready.shift();
    if (node !== undefined) yield node;
    else if (inFlight.size > 0) await Promise.race(inFlight);
  }
  if (failure !== undefined) throw failure as Error;
}

/** One node's children; undefined when it vanished or may not be listed (then it is counted). */
async function look(
  session: Session,
  path: string,
  options: WalkOptions,
): Promise<WalkedNode | undefined> {
  try {
    const { children, stat } = await session.getChildren(path);
    return { path, children, stat };
  } catch (error) {
    if (isNodeError(error, zooKeeperCodes.noNode)) return undefined;
    if (!isRefused(error)) throw error;
    options.onHidden(path);
    return undefined;
  }
}
