/**
 * The lock of a BullMQ job that a worker is at: a string `<prefix>:<queue>:<job>:lock`. The job's own
 * hash names the worker. Without its lock the job counts as stalled and is given to another worker.
 * @see taskforcesh/bullmq@352d3c7 src/commands, src/classes/worker.ts
 */
import type { LockNote } from '../domain/lock.ts';
import { parseText, stringToText, type Text } from '../domain/text.ts';
import type { Decoded, RedisConvention, RedisRecord } from './convention.ts';
import { stringLock } from './string-lock.ts';

const jobLock = /^[^:]+:.+:[^:]+:lock$/;
/** `<worker uuid>:<count>`. */
const token = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+$/;
const processedBy = stringToText('pb');

const base = stringLock({
  id: 'bullmq',
  title: 'BullMQ job lock',
  matches(value, key) {
    if (!key.endsWith(':lock') || !jobLock.test(key)) return undefined;
    if (key.startsWith('bull:')) return 'high';
    return token.test(value) ? 'medium' : undefined;
  },
  // Workers wait for jobs.
  waiters: 'nobody',
  warnings: [
    'the job is then stalled: another worker starts it again, while this one may still be at it',
  ],
  hold: {
    as: 'nothing',
    reason: 'a job whose lock is another’s is stalled: hold its queue instead',
  },
});

export const bullmq: RedisConvention = {
  ...base,
  siblings: ({ key }) => [{ key: jobKey(key), what: 'key' }],
  decode(record): Decoded {
    const decoded = base.decode(record);
    return { ...decoded, notes: [...decoded.notes, ...workerNotes(record)] };
  },
};

function jobKey(key: Text): Text {
  return parseText(key.replace(/:lock$/, ''));
}

function workerNotes({ key, siblings }: RedisRecord): LockNote[] {
  const worker = siblings.get(jobKey(key))?.fields?.get(processedBy);
  return worker === undefined
    ? []
    : [{ code: 'worker', severity: 'info', text: `the job names its worker: ${worker}` }];
}
