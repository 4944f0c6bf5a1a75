/** Reads one parent with its children into the record that conventions decode. */
import type { ZooKeeperChild, ZooKeeperRecord } from '../../conventions/convention.ts';
import { bytesToText, stringToText, textToBytes, type Text } from '../../domain/text.ts';
import type { NodeStat, Session } from '../../clients/zookeeper/session.ts';
import { isNodeError, isRefused, zooKeeperCodes } from '../../clients/zookeeper/errors.ts';

/** Node data is a hint, not a payload: more than this is cut before it is kept. */
const maxDataBytes = 1024;

/** The path as the server knows it. Node names are UTF-8 by protocol, so nothing is lost. */
export function rawPath(path: Text): string {
  return new TextDecoder().decode(textToBytes(path));
}

/** Last element of a path. */
export function nodeName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Undefined for the root. */
export function parentOf(path: string): string | undefined {
  if (path === '/') return undefined;
  const at = path.lastIndexOf('/');
  return at === 0 ? '/' : path.slice(0, at);
}

export function childPath(parent: string, name: string): string {
  return parent === '/' ? `/${name}` : `${parent}/${name}`;
}

export function toChild(name: string, data: Buffer, stat: NodeStat): ZooKeeperChild {
  return {
    name: stringToText(name),
    data: bytesToText(data.subarray(0, maxDataBytes)),
    czxid: stat.czxid,
    version: stat.version,
    ephemeralOwner: stat.ephemeralOwner,
  };
}

/** What one read of a parent gave: the record, and how many children hide their data. */
export interface ReadRecord {
  readonly record: ZooKeeperRecord;
  /** Children whose data this identity may not read; what they are is known all the same. */
  readonly hidden: number;
}

/**
 * Reads the parent and the data of every child; a child that vanished meanwhile is left out.
 * @returns undefined when the parent does not exist
 * @throws {PermissionError} this identity may not list the children
 */
export async function readRecord(session: Session, path: string): Promise<ReadRecord | undefined> {
  try {
    const { children, stat } = await session.getChildren(path);
    const { data } = await session.getData(path);
    const read = await Promise.all(children.map((name) => readChild(session, path, name)));
    const present = read.filter((one) => one !== 'gone');
    return {
      record: {
        system: 'zookeeper',
        path: stringToText(path),
        node: toChild(nodeName(path), data, stat),
        cversion: stat.cversion,
        children: present.map(({ child }) => child),
        readAtMs: Date.now(),
      },
      hidden: present.filter(({ hidden }) => hidden).length,
    };
  } catch (error) {
    if (isNodeError(error, zooKeeperCodes.noNode)) return undefined;
    throw error;
  }
}

/** Names only: enough to order contenders and to know the layout. */
export function bareRecord(
  path: string,
  children: readonly string[],
  own: { readonly data: Buffer; readonly stat: NodeStat },
): ZooKeeperRecord {
  const empty = { data: stringToText(''), czxid: 0n, version: 0, ephemeralOwner: 1n };
  return {
    system: 'zookeeper',
    path: stringToText(path),
    node: toChild(nodeName(path), own.data, own.stat),
    cversion: own.stat.cversion,
    children: children.map((name) => ({ ...empty, name: stringToText(name) })),
  };
}

/** One child; `hidden`: its ACL keeps its data back. */
export interface ReadChild {
  readonly child: ZooKeeperChild;
  readonly hidden: boolean;
}

/** One child, or `gone`: it vanished between list and read. */
export async function readChild(
  session: Session,
  parent: string,
  name: string,
): Promise<ReadChild | 'gone'> {
  const path = childPath(parent, name);
  try {
    const { data, stat } = await session.getData(path);
    return { child: toChild(name, data, stat), hidden: false };
  } catch (error) {
    if (isNodeError(error, zooKeeperCodes.noNode)) return 'gone';
    if (!isRefused(error)) throw error;
    // No ACL guards the metadata.
    const stat = await session.exists(path);
    return stat === undefined
      ? 'gone'
      : { child: toChild(name, Buffer.alloc(0), stat), hidden: true };
  }
}
