/** A convention on ZooKeeper from a team's description: one node, or a queue of sequential children. */
import { parseText, type Text } from '../../domain/text.ts';
import { parseSequence } from '../../domain/zookeeper-sequence.ts';
import type {
  ContenderName,
  Decoded,
  ZooKeeperChild,
  ZooKeeperConvention,
  ZooKeeperRecord,
} from '../convention.ts';
import { plainEphemeral } from '../plain-ephemeral.ts';
import { decodeQueue } from '../zookeeper-queue.ts';
import type { OwnZooKeeper } from './description.ts';
import { readOwner, withOwners } from './owner.ts';
import { matchTemplate } from './template.ts';

export function ownZooKeeper(description: OwnZooKeeper): ZooKeeperConvention {
  const { id, title, confidence, type, warnings, neverRelease } = description;
  const contender = (name: Text): ContenderName | undefined => readContender(description, name);
  return {
    id,
    title,
    system: 'zookeeper',
    recognises:
      description.contender === undefined
        ? description.key.source
        : `${description.key.source}/${description.contender.source}<seq>`,
    // Nothing proves that a name is never created again: the release raises the version first.
    uniqueNames: false,
    contender,
    warnings,
    ...(neverRelease === undefined ? {} : { forbidden: neverRelease }),
    ...(type === 'node'
      ? { needsData: (names: ZooKeeperRecord) => isLeafAt(description, names) }
      : {}),
    matches: (record) => (fits(description, record, contender) ? confidence : undefined),
    decode: (record) => decode(description, record, contender),
  };
}

/** `job-0000000007`: the template, then the sequence: ten characters, or eleven of a far negative one. */
function readContender({ contender }: OwnZooKeeper, name: Text): ContenderName | undefined {
  if (contender === undefined) return undefined;
  for (const length of [10, 11]) {
    const sequence = parseSequence(name.slice(-length));
    if (sequence === undefined) continue;
    return matchTemplate(contender, parseText(name.slice(0, -length))) === undefined
      ? undefined
      : { kind: 'exclusive', sequence };
  }
  return undefined;
}

function isLeafAt({ key }: OwnZooKeeper, record: ZooKeeperRecord): boolean {
  return record.children.length === 0 && matchTemplate(key, record.path) !== undefined;
}

function fits(
  description: OwnZooKeeper,
  record: ZooKeeperRecord,
  contender: ZooKeeperConvention['contender'],
): boolean {
  if (description.type === 'node') {
    return (
      isLeafAt(description, record) && readOwner(description.owner, record.node.data) !== undefined
    );
  }
  return (
    matchTemplate(description.key, record.path) !== undefined &&
    record.children.some(({ name }) => contender(name) !== undefined)
  );
}

function decode(
  { type, owner }: OwnZooKeeper,
  record: ZooKeeperRecord,
  contender: ZooKeeperConvention['contender'],
): Decoded {
  const valueAt = (name: Text): Text | undefined => nodeCalled(record, name)?.data;
  const decoded = type === 'queue' ? decodeQueue(record, contender) : decodeNode(record);
  return withOwners(decoded, owner, valueAt);
}

function nodeCalled(record: ZooKeeperRecord, name: Text): ZooKeeperChild | undefined {
  return (
    record.children.find((child) => child.name === name) ??
    (record.node.name === name ? record.node : undefined)
  );
}

/** A persistent node outlives its client. */
function decodeNode(record: ZooKeeperRecord): Decoded {
  const decoded = plainEphemeral.decode(record);
  return record.node.ephemeralOwner === 0n ? { ...decoded, state: 'no-ttl' } : decoded;
}
