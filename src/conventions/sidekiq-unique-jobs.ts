/**
 * sidekiq-unique-jobs (9.0): a HASH `<digest>:LOCKED` of job id → metadata, and the sorted set
 * `uniquejobs:digests` of all digests that are taken. Older versions keep queues beside it; those
 * are recognised and left alone.
 * @see mhenrixon/sidekiq-unique-jobs@76aa8c9 lib/sidekiq_unique_jobs/lua
 */
import { known, unknown } from '../domain/known.ts';
import type { Confidence } from '../domain/lock.ts';
import { parseText, stringToText, type Text } from '../domain/text.ts';
import type { Decoded, RedisConvention, RedisGrant, RedisRecord } from './convention.ts';
import { heldForUnknown } from './string-lock.ts';

const suffix = ':LOCKED';
const digests = stringToText('uniquejobs:digests');
const jobId = /^[0-9a-f]{24}$/;
/** Keys of the versions before. */
const olderParts = ['QUEUED', 'PRIMED', 'INFO'];

export const sidekiqUniqueJobs: RedisConvention = {
  id: 'sidekiq-unique-jobs',
  title: 'sidekiq-unique-jobs lock',
  system: 'redis',
  types: ['hash'],
  matches({ key, fields }): Confidence | undefined {
    if (!key.endsWith(suffix) || fields === undefined || fields.size === 0) return undefined;
    return [...fields.keys()].every((name) => jobId.test(name)) ? 'high' : 'medium';
  },
  siblings: ({ key }) => olderKeys(key).map((one) => ({ key: one, what: 'key' })),
  helperOf: () => undefined,
  keyOf: (name) => parseText(name + suffix),
  keysMatching: (pattern) => [parseText(pattern + suffix)],
  nameOf: (key) => (key.endsWith(suffix) ? digestOf(key) : undefined),
  decode,
  grantOf,
  release(record) {
    const older = record.siblings.size > 0;
    return {
      alsoDelete: [],
      fenceKey: undefined,
      tidy: [{ command: 'ZREM', key: digests, argument: digestOf(record.key), when: 'emptied' }],
      publish: [],
      push: [],
      warnings: ['the job itself is not touched: it may still run, and another like it may start'],
      hold: { as: 'nothing', reason: 'a job would take another job’s place' },
      ...(older ? { forbidden: olderVersion } : {}),
    };
  },
};

const olderVersion =
  'an older version of the library keeps queues beside it: release it by its own tools';

function digestOf(key: Text): Text {
  return parseText(key.slice(0, -suffix.length));
}

function olderKeys(key: Text): Text[] {
  return olderParts.map((part) => parseText(`${digestOf(key)}:${part}`));
}

function decode(record: RedisRecord): Decoded {
  const jobs = [...(record.fields?.keys() ?? [])];
  return {
    state: jobs.length === 0 ? 'free' : record.ttlMs === undefined ? 'no-ttl' : 'held',
    mode: jobs.length > 1 ? 'semaphore' : 'exclusive',
    holders: known(
      jobs.map((owner) => ({ owner, place: unknown('a job id names no host'), holds: 1 })),
    ),
    waiters: { kind: 'unknown', reason: 'jobs like it are dropped or tried again later' },
    fence: { kind: 'none' },
    heldForMs: heldForUnknown,
    helpers: [...record.siblings.keys()],
    notes: record.siblings.size === 0 ? [] : [olderNote],
    weakOwner: false,
  };
}

const olderNote = { code: 'older-version', severity: 'info', text: olderVersion } as const;

function grantOf(record: RedisRecord, holder: Text | undefined): RedisGrant | undefined {
  const jobs = [...(record.fields ?? [])];
  const job =
    holder === undefined
      ? jobs.length === 1
        ? jobs[0]
        : undefined
      : jobs.find(([name]) => name === holder);
  if (job === undefined) return undefined;
  return {
    key: record.key,
    type: 'hash',
    want: job,
    exact: false,
    part: { remove: [job[0]], idle: [] },
  };
}
