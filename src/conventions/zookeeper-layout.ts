/** Builds a queue convention from one pattern of child names. */
import type { Confidence } from '../domain/lock.ts';
import type { Text } from '../domain/text.ts';
import { parseSequence } from '../domain/zookeeper-sequence.ts';
import type { ContenderName, ZooKeeperConvention, ZooKeeperRecord } from './convention.ts';
import { decodeQueue } from './zookeeper-queue.ts';

export interface QueueLayout {
  readonly id: string;
  readonly title: string;
  readonly recognises: string;
  /** Groups: `kind` (through `kinds`) when the layout has readers and writers, and `sequence`. */
  readonly child: RegExp;
  readonly kinds?: Readonly<Record<string, ContenderName['kind']>>;
  readonly confidence: Confidence;
  /** Names hold a GUID: the same name can never be created again. */
  readonly uniqueNames: boolean;
}

/** A convention whose contenders are the children that match `layout.child`. */
export function queueConvention(layout: QueueLayout): ZooKeeperConvention {
  const read = (name: Text): ContenderName | undefined => readName(layout, name);
  return {
    id: layout.id,
    title: layout.title,
    recognises: layout.recognises,
    system: 'zookeeper',
    uniqueNames: layout.uniqueNames,
    contender: read,
    matches: (record: ZooKeeperRecord) =>
      record.children.some((child) => read(child.name) !== undefined)
        ? layout.confidence
        : undefined,
    decode: (record) => decodeQueue(record, read),
  };
}

function readName(layout: QueueLayout, name: Text): ContenderName | undefined {
  const groups = layout.child.exec(name)?.groups;
  if (groups === undefined) return undefined;
  const sequence = parseSequence(groups['sequence'] ?? '');
  if (sequence === undefined) return undefined;
  const kind = layout.kinds === undefined ? 'exclusive' : layout.kinds[groups['kind'] ?? ''];
  return kind === undefined ? undefined : { kind, sequence };
}
