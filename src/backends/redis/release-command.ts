/** Spells the release script's arguments (scripts/release.ts says what they are). */
import type { ReleaseOptions } from '../../domain/release.ts';
import { textToBytes, type Text } from '../../domain/text.ts';
import type { WordPair } from '../../conventions/convention.ts';
import type { Argument, Command } from './connection.ts';
import { grantPairs } from './identity.ts';
import type { ReleasePlan } from './preview.ts';
import { releaseScript } from './scripts/release.ts';

/** The one command that compares, deletes or replaces, and wakes. */
export function releaseCommand(plan: ReleasePlan, how: Pick<ReleaseOptions, 'hold'>): Command {
  const { stored, release } = plan;
  const { record, convention } = stored;
  const keys = keysOf(plan);
  const want = record.value !== undefined ? [record.value] : grantPairs(record, convention).flat();
  return [
    'EVAL',
    releaseScript,
    keys.length,
    ...keys,
    record.type,
    convention.grantFields === undefined ? '1' : '0',
    ...counted(want.map(keyBytes)),
    plan.floor === undefined ? '' : String(plan.floor),
    ...holdArguments(how.hold),
    release.alsoDelete.length,
    ...counted(spell(release.hold.as === 'hash' ? release.hold.fields : [])),
    release.history?.maxLength ?? '',
    ...counted(spell(release.history?.released)),
    ...counted(spell(release.history?.held)),
    ...counted(release.publish.flatMap(({ channel, message }) => [keyBytes(channel), message])),
    ...counted(release.push.flatMap(({ value, ttlMs }) => [value, ttlMs])),
  ];
}

function keysOf({ stored, release }: ReleasePlan): Buffer[] {
  const lock = stored.record.key;
  return [
    lock,
    release.fenceKey ?? lock,
    release.history?.key ?? lock,
    ...release.alsoDelete,
    ...release.push.map(({ key }) => key),
  ].map(keyBytes);
}

function holdArguments(hold: ReleaseOptions['hold']): Argument[] {
  return hold === undefined ? [''] : [String(hold.ttlMs), keyBytes(hold.owner)];
}

function counted(items: readonly Argument[]): Argument[] {
  return [items.length, ...items];
}

function spell(pairs: readonly WordPair[] = []): Argument[] {
  return pairs
    .flat()
    .map((word) =>
      'put' in word ? `$${word.put}` : Buffer.concat([Buffer.from('='), keyBytes(word.text)]),
    );
}

/** The server's bytes of a name or value. */
export function keyBytes(text: Text): Buffer {
  return Buffer.from(textToBytes(text));
}
