/** Which keys a release writes. */
import type { Text } from '../../domain/text.ts';
import type { RedisRelease } from '../../conventions/convention.ts';

/** The keys of the script, in its order. On a Cluster all of them must be in one slot. */
export function writtenKeys(lock: Text, release: RedisRelease): Text[] {
  const { queue } = release;
  return [
    lock,
    release.fenceKey ?? lock,
    release.history?.key ?? lock,
    ...release.alsoDelete,
    ...(release.tidy ?? []).map(({ key }) => key),
    ...release.push.map(({ key }) => key),
    ...(queue === undefined ? [] : [queue.list, queue.deadlines]),
  ];
}
