/** The words for changes: one sentence a kind. Used by every output. */
import { formatDuration } from '../domain/duration.ts';
import type { FencingToken } from '../domain/fence.ts';
import type { Change, ChangeKind, Ended } from './changes.ts';

/** What happened, without the name of the lock. */
export function changeSentence(change: Change): string {
  const sentence = say(change.kind, change);
  return change.kind !== 'gap' && change.afterGap ? `${sentence} (while nobody looked)` : sentence;
}

type OfKind<C, K> = C extends { readonly kind: infer Own } ? (K extends Own ? C : never) : never;
type ByKind = { readonly [K in ChangeKind]: OfKind<Change, K> };

function say<K extends ChangeKind>(kind: K, change: ByKind[K]): string {
  return sentences[kind](change);
}

const sentences: { readonly [K in ChangeKind]: (change: ByKind[K]) => string } = {
  gap: ({ lostMs, reason }) => `not watched for ${formatDuration(lostMs)}: ${reason}`,
  seen: ({ state, owners, fence }) => `${state}${list(owners, ' by ')}${withFence(fence)}`,
  taken: ({ owner, fence }) => `taken by ${ownerName(owner)}${withFence(fence)}`,
  retaken: ({ owner, oldFence, fence }) =>
    `taken again by ${ownerName(owner)}${fromTo(oldFence, fence)}`,
  'handed-over': ({ oldOwner, owner, oldFence, fence, ended }) =>
    `handed over from ${ownerName(oldOwner)} to ${ownerName(owner)}${fromTo(oldFence, fence)}${endedWords(ended)}`,
  freed: ({ oldOwner, oldFence, ended }) =>
    `freed by ${ownerName(oldOwner)}${withFence(oldFence)}${endedWords(ended)}`,
  'no-ttl': ({ owners }) => `no TTL${list(owners, ', held by ')}: it will never free itself`,
  state: ({ oldState, state }) => `was ${oldState}, is ${state}`,
  'queue-grew': queueSentence,
  'queue-shrank': queueSentence,
  renewed: ({ ttlMs, lowestTtlMs, everyMs }) =>
    `renewed to ${formatDuration(ttlMs)} from ${formatDuration(lowestTtlMs)}${everyMs === undefined ? '' : `, ${formatDuration(everyMs)} after the last`}`,
  'renewal-missed': ({ sinceMs, everyMs, ttlMs }) =>
    `renewal missed: none for ${formatDuration(sinceMs)}, usual every ${formatDuration(everyMs)}; ${formatDuration(ttlMs)} left`,
  'ttl-near-end': ({ ttlMs, fullMs }) =>
    `TTL near its end: ${formatDuration(ttlMs)} left of ${formatDuration(fullMs)}`,
  'fence-fell': ({ oldFence, oldOwner, fence, owner }) =>
    `fence fell from ${oldFence}${of(oldOwner)} to ${fence}${of(owner)}: a resource may accept an old holder`,
  'fence-repeated': ({ oldOwner, fence, owner }) =>
    `fence ${fence}${of(oldOwner)} came again${of(owner, ' with ')}: a resource cannot tell the two apart`,
  'fence-jumped': ({ oldFence, fence, owner }) =>
    `fence jumped from ${oldFence} to ${fence}${of(owner)}: more grants than there was time for`,
};

function queueSentence(change: ByKind['queue-grew' | 'queue-shrank']): string {
  const { from, to, appeared, vanished } = change;
  return `${from} → ${to} waiting${list(appeared, ', came: ')}${list(vanished, ', gave up: ')}`;
}

function of(owner: string | undefined, before = ' of '): string {
  return owner === undefined ? '' : before + ownerName(owner);
}

/** An owner as it is told of. */
export function ownerName(owner: string): string {
  return owner === '' ? '(empty)' : owner;
}

function list(names: readonly string[], before: string): string {
  return names.length === 0 ? '' : before + names.map(ownerName).join(', ');
}

function withFence(fence: FencingToken | undefined): string {
  return fence === undefined ? '' : `, fence ${fence}`;
}

function fromTo(from: FencingToken | undefined, to: FencingToken | undefined): string {
  if (to === undefined) return '';
  return from === undefined ? `, fence ${to}` : `, fence ${from} → ${to}`;
}

function endedWords(ended: Ended): string {
  switch (ended) {
    case 'before-its-lease':
      return '; released or deleted before its lease ended';
    case 'lease-may-have-ended':
      return '; released, or its lease ended';
    case 'unknown':
      return '';
  }
}
