/**
 * ShedLock on Redis: a string `ADDED:<ISO time>@<host>:<uuid>` that names the node which runs the job.
 * The end of a job may leave the key for a while (lockAtLeastFor), so a key is no proof of a runner.
 * @see lukas-krecan/ShedLock@2495b14 RedisLockProvider
 */
import { known, unknown } from '../domain/known.ts';
import { parseText, type Text } from '../domain/text.ts';
import type { Decoded, RedisConvention } from './convention.ts';
import { stringLock } from './string-lock.ts';

const shape = /^ADDED:(\d{4}-\d\d-\d\dT[0-9:.]+Z?)@([^:]+)(?::(.+))?$/;

const base = stringLock({
  id: 'shedlock-redis',
  title: 'ShedLock job lock',
  matches: (value) => (value.startsWith('ADDED:') && shape.test(value) ? 'high' : undefined),
  owner: (value) => hostIn(value) ?? value,
  place(value) {
    const host = hostIn(value);
    return host === undefined
      ? unknown('the value is not of this layout')
      : known({ host, source: 'value' });
  },
  grantedAtMs: (value) => Date.parse(shape.exec(value)?.[1] ?? ''),
  warnings: [
    'without its safe update, ShedLock ends a run by deleting the key whoever holds it: the old run may free the next one’s lock',
  ],
});

export const shedlockRedis: RedisConvention = {
  ...base,
  decode(record): Decoded {
    const decoded = base.decode(record);
    return {
      ...decoded,
      // Owners are nodes: which of a node's grants this is, only the whole value tells.
      holders: withRecord(decoded.holders, record.value),
      notes: [
        ...decoded.notes,
        {
          code: 'may-be-finished',
          severity: 'info',
          text: 'a finished job may leave the key until lockAtLeastFor is over: it proves no runner',
        },
      ],
    };
  },
};

function hostIn(value: Text): Text | undefined {
  const host = shape.exec(value)?.[2];
  return host === undefined ? undefined : parseText(host);
}

function withRecord(holders: Decoded['holders'], value: Text | undefined): Decoded['holders'] {
  if (holders.kind === 'unknown' || value === undefined) return holders;
  return { ...holders, value: holders.value.map((one) => ({ ...one, record: value })) };
}
