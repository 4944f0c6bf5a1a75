/**
 * Names of contenders in the ZooKeeper queue, `_c_<guid>-lock-<number>` as Curator writes them, and
 * their order. The guid is derived from the owner token: its node is found by its name alone.
 */
import { createHash } from 'node:crypto';
import type { OwnerToken } from '../domain/holder.ts';
import { textToBytes } from '../domain/text.ts';
import { inSequenceOrder, parseSequence } from '../domain/zookeeper-sequence.ts';

/** One child of the lock's node that stands in the queue. */
export interface Contender {
  readonly name: string;
  readonly guid: string;
  readonly sequence: number;
}

/** Whether its owner marks the node before it deletes it: kazoo just deletes. */
export function marksItsRelease(path: string): boolean {
  return !kazooName.test(path.slice(path.lastIndexOf('/') + 1));
}

const contenderName =
  /^_c_(?<guid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-lock-(?<digits>.+)$/;
/** As kazoo writes them: of a user's own worker. Its guid is drawn, not derived. */
const kazooName = /^(?<guid>[0-9a-f]{32})__lock__(?<digits>.+)$/;

/** The children that are contenders, in the order of the queue. */
export function contendersOf(children: readonly string[]): readonly Contender[] {
  const contenders = children.flatMap((name) => {
    const found = contenderName.exec(name) ?? kazooName.exec(name);
    const { guid = '', digits = '' } = found?.groups ?? {};
    const sequence = parseSequence(digits);
    return sequence === undefined ? [] : [{ name, guid, sequence }];
  });
  return inSequenceOrder(contenders);
}

/** Whether the contender was made for this owner token. */
export function isOf(contender: Contender, owner: OwnerToken): boolean {
  return contender.guid === guidOf(owner);
}

/** What the server appends its number to. */
export function namePrefix(owner: OwnerToken): string {
  return `_c_${guidOf(owner)}-lock-`;
}

/** A UUID of version 8, "made in a way of one's own": a hash of the token. */
function guidOf(owner: OwnerToken): string {
  const hash = createHash('sha256').update(textToBytes(owner)).digest('hex');
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`];
  return [...parts, `a${hash.slice(17, 20)}`, hash.slice(20, 32)].join('-');
}
