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

/** What one read of a parent gave: the record, and children that could not be read. */
export interface ReadRecord {
  readonly record: ZooKeeperRecord;
  readonly stat: NodeStat;
  /** Children whose data this identity may not read. */
  readonly hidden: number;
}

/**
 * Reads the parent and the data of every child; a child that vanished meanwhile is left out.
 * @returns undefined when the parent does not exist
 */
export async function readRecord(
  session: Session,
  path: string,
  wanted: (name: string) => boolean,
): Promise<ReadRecord | undefined> {
  try {
    const { children, stat } = await session.getChildren(path);
    const { data } = await session.getData(path);
    const read = await Promise.all(
      children.filter(wanted).map((name) => readChild(session, path, name)),
    );
    return {
      record: {
        system: 'zookeeper',
        path: stringToText(path),
        node: toChild(nodeName(path), data, stat),
        cversion: stat.cversion,
        children: read.filter((one) => typeof one === 'object'),
      },
      stat,
      hidden: read.filter((one) => one === 'hidden').length,
    };
  } catch (error) {
    if (isNodeError(error, zooKeeperCodes.noNode)) return undefined;
    throw error;
  }
}

/** One child, or why it is not there: `gone` between list and read, or `hidden` by its ACL. */
export async function readChild(
  session: Session,
  parent: string,
  name: string,
): Promise<ZooKeeperChild | 'gone' | 'hidden'> {
  try {
    const { data, stat } = await session.getData(childPath(parent, name));
    return toChild(name, data, stat);
  } catch (error) {
    if (isNodeError(error, zooKeeperCodes.noNode)) return 'gone';
    if (isRefused(error)) return 'hidden';
    throw error;
  }
}
