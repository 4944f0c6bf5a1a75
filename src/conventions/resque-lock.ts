/**
 * resque-lock: `lock:<Class>-[args]` → `true`, without owner and without TTL. Set when the job is
 * queued, deleted by name when it is done: a worker that was killed leaves it for ever.
 * @see defunkt/resque-lock@22f276b lib/resque/plugins/lock.rb
 */
import type { Confidence } from '../domain/lock.ts';
import type { Text } from '../domain/text.ts';
import { stringLock } from './string-lock.ts';

/** A Ruby class, under Resque's own namespace or none. */
const jobKey = /^(?:.+:)?lock:[A-Z][\w:]*-/;

export const resqueLock = stringLock({
  id: 'resque-lock',
  title: 'resque-lock',
  matches,
  owner: () => undefined,
  shared: 'is the word true, the same for every job',
  warnings: [
    'the job may still be queued or running: nothing in the record tells',
    'its own release deletes by name: it may free the next holder’s lock',
  ],
});

function matches(value: Text, key: Text): Confidence | undefined {
  if (value !== 'true' || !jobKey.test(key)) return undefined;
  return key.includes('-[') ? 'high' : 'medium';
}
