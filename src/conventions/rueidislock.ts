/**
 * rueidislock: one lock is several strings `rueidislock:<i>:<name>` on the same server, with the same
 * random value; who has it on most of them holds it. Waiters let the server track the keys: the
 * deletion itself wakes them.
 * @see redis/rueidis@256d25a rueidislock/lock.go
 */
import type { Lease } from '../domain/lease.ts';
import { known, unknown } from '../domain/known.ts';
import { parseText, type Text } from '../domain/text.ts';
import type {
  Decoded,
  RedisConvention,
  RedisGrant,
  RedisRecord,
  RedisSibling,
} from './convention.ts';
import { heldForUnknown } from './string-lock.ts';

const shape = /^(rueidislock):(\d+):(.+)$/s;
/** Keys asked for: a majority of up to five. */
const most = 9;
/** The library's default: two of three. */
const fewest = 3;

export const rueidislock: RedisConvention = {
  id: 'rueidislock',
  title: 'rueidislock',
  system: 'redis',
  types: ['string', 'none'],
  matches: (record) =>
    record.key.startsWith('rueidislock:') && shape.test(record.key) && copiesOf(record).length > 0
      ? 'high'
      : undefined,
  siblings: ({ key }) =>
    Array.from({ length: most }, (_, index) => ({
      key: copyKey(key, index),
      what: 'key' as const,
    })).filter((one) => one.key !== key),
  helperOf(key) {
    const index = key.startsWith('rueidislock:') ? shape.exec(key)?.[2] : undefined;
    return index === undefined || index === '0' ? undefined : copyKey(key, 0);
  },
  // The first copy may be the one that is gone.
  outlives: () => true,
  keyOf: (name) => parseText(`rueidislock:0:${name}`),
  keysMatching: (pattern) => [parseText(`rueidislock:*:${pattern}`)],
  nameOf: (key) => {
    const name = shape.exec(key)?.[3];
    return name === undefined ? undefined : parseText(name);
  },
  decode,
  grantOf(record, holder) {
    const [first] = winner(record).copies;
    if (first?.value === undefined || (holder !== undefined && holder !== first.value)) {
      return undefined;
    }
    return {
      key: first.key,
      type: 'string',
      want: [first.value],
      exact: true,
    } satisfies RedisGrant;
  },
  release(record) {
    const [, ...others] = winner(record).copies;
    return {
      alsoDelete: [],
      fenceKey: undefined,
      tidy: others.flatMap(({ key, value: argument }) =>
        argument === undefined ? [] : [{ command: 'DELIF' as const, key, argument }],
      ),
      publish: [],
      push: [],
      warnings: [],
      hold: { as: 'nothing', reason: 'several keys cannot be replaced in one step' },
    };
  },
};

function copyKey(key: Text, index: number): Text {
  return parseText(key.replace(shape, `$1:${index}:$3`));
}

/** The copies that are there, in order. */
function copiesOf(record: RedisRecord): RedisSibling[] {
  return [record, ...record.siblings.values()]
    .filter((one) => one.value !== undefined)
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

interface Votes {
  /** The copies with the commonest value. */
  readonly copies: readonly RedisSibling[];
  readonly present: number;
  readonly majority: number;
}

function winner(record: RedisRecord): Votes {
  const all = copiesOf(record);
  const highest = Math.max(0, ...all.map((one) => Number(shape.exec(one.key)?.[2] ?? 0)));
  let copies: readonly RedisSibling[] = [];
  for (const { value } of all) {
    const same = all.filter((one) => one.value === value);
    if (same.length > copies.length) copies = same;
  }
  const majority = Math.floor(Math.max(fewest, highest + 1) / 2) + 1;
  return { copies, present: all.length, majority };
}

function decode(record: RedisRecord): Decoded {
  const votes = winner(record);
  const { copies, majority, present } = votes;
  const owner = copies[0]?.value;
  const has = copies.length >= majority;
  return {
    state:
      present === 0
        ? 'free'
        : has
          ? heldState(votes)
          : present > copies.length
            ? 'split'
            : 'partial',
    mode: 'exclusive',
    holders: known(
      owner === undefined
        ? []
        : [{ owner, place: unknown('the value is random and names no host'), holds: 1 }],
    ),
    waiters: {
      kind: 'unknown',
      reason: 'waiters track the keys; the server does not tell who does',
    },
    fence: { kind: 'none' },
    heldForMs: heldForUnknown,
    ...(owner === undefined ? {} : { lease: leaseOf(votes) }),
    helpers: copiesOf(record)
      .map((one) => one.key)
      .filter((key) => key !== record.key),
    notes: has || present === 0 ? [] : [minorityNote(votes)],
    weakOwner: false,
  };
}

function heldState(votes: Votes): Decoded['state'] {
  return leaseOf(votes).kind === 'never' ? 'no-ttl' : 'held';
}

/** It ends with its majority: when the copy goes that makes it one. */
function leaseOf({ copies, majority }: Votes): Lease {
  const left = copies.map(({ ttlMs }) => ttlMs ?? Infinity).sort((a, b) => b - a);
  const ttlMs = left[Math.min(majority, left.length) - 1] ?? 0;
  return ttlMs === Infinity
    ? { kind: 'never' }
    : { kind: 'ttl', ttlMs, grantedMs: unknown('not recorded') };
}

function minorityNote({ copies, majority }: Votes): Decoded['notes'][number] {
  return {
    code: 'no-majority',
    severity: 'warn',
    text: `its commonest value is on ${copies.length} keys, and ${majority} make a holder`,
  };
}
