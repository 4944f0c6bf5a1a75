/**
 * Laravel's cache locks: a string of sixteen letters and digits under the application's cache prefix.
 * A lock taken for 0 seconds has no TTL. Unique jobs and scheduler mutexes are such locks by name; a
 * concurrency limiter is one string for each of its slots.
 * @see laravel/framework@bd71b45 Illuminate/Cache/RedisLock.php, Redis/Limiters/ConcurrencyLimiter.php
 */
import type { Confidence } from '../domain/lock.ts';
import { parseText, type Text } from '../domain/text.ts';
import type { Decoded, RedisConvention } from './convention.ts';
import { stringLock } from './string-lock.ts';
import { tokenShape } from './token-shapes.ts';

const uniqueJob = 'laravel_unique_job:';
const schedule = /framework\/schedule-[0-9a-f]{40}/;
const cachePrefix = /(?:^|[-_:])cache[-_:]/;
const slotKey = /\D\d{1,3}$/;

const base = stringLock({
  id: 'laravel',
  title: 'Laravel lock',
  matches,
  owner: tokenIn,
});

export const laravel: RedisConvention = {
  ...base,
  decode(record): Decoded {
    const decoded = base.decode(record);
    const { key, value } = record;
    return {
      ...decoded,
      title: titleOf(key, value),
      mode: isSlot(key, value) ? 'semaphore' : 'exclusive',
      notes: [...decoded.notes, ...(isSlot(key, value) ? [slotNote] : [])],
    };
  },
};

function matches(value: Text, key: Text): Confidence | undefined {
  if (isSlot(key, value)) return 'low';
  if (tokenShape(tokenIn(value)) !== 'alphanumeric-16') return undefined;
  if (key.includes(uniqueJob) || schedule.test(key)) return 'high';
  return cachePrefix.test(key) ? 'medium' : undefined;
}

/** The token, also where the client serialised it as PHP does: `s:16:"…";`. */
function tokenIn(value: Text): Text {
  const inner = value.startsWith('s:') ? /^s:\d+:"(.*)";$/.exec(value)?.[1] : undefined;
  return inner === undefined ? value : parseText(inner);
}

function isSlot(key: Text, value: Text | undefined): boolean {
  return tokenShape(value) === 'alphanumeric-20' && slotKey.test(key);
}

function titleOf(key: Text, value: Text | undefined): string {
  if (key.includes(uniqueJob)) return 'Laravel unique job';
  if (schedule.test(key)) return 'Laravel scheduler mutex';
  return isSlot(key, value) ? 'Laravel concurrency limiter slot' : 'Laravel lock';
}

const slotNote = {
  code: 'one-slot',
  severity: 'info',
  text: 'one slot of a limiter: each of its slots is a key of its own',
} as const;
