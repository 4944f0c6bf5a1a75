/**
 * The mutex of DistributedLock (.NET): a string `<machine>_<pid>_<32 hex>`, so the value itself names
 * the process. Renewed every third of its lease; waiters poll.
 * @see madelson/DistributedLock@3da3eaf RedisMutexPrimitive.cs, RedLockHelper.cs
 */
import type { OwnerPlace } from '../domain/holder.ts';
import { known, unknown, type Known } from '../domain/known.ts';
import { parseText, type Text } from '../domain/text.ts';
import { oneOfSeveral, stringLock } from './string-lock.ts';

const handle = /^(.+)_(\d{1,10})_[0-9a-f]{32}$/;

/** A handle of this library: its mutex, its readers and writers, and its semaphores have the same. */
export function isHandle(value: Text): boolean {
  return value.length > 34 && handle.test(value);
}

/** Machine and process in a handle. */
export function handlePlace(value: Text): Known<OwnerPlace> {
  const [, host, pid] = handle.exec(value) ?? [];
  return host === undefined
    ? unknown('the value is not of this layout')
    : known({ host: parseText(host), pid: Number(pid), source: 'value' });
}

export const distributedLockMutex = stringLock({
  id: 'distributed-lock-mutex',
  title: 'DistributedLock mutex',
  matches: (value) => (isHandle(value) ? 'high' : undefined),
  place: handlePlace,
  warnings: [oneOfSeveral],
});
