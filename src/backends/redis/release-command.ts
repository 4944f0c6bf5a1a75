/** Spells the release script's arguments (scripts/release.ts says what they are). */
import { InternalError } from '../../domain/errors.ts';
import type { ReleaseOptions } from '../../domain/release.ts';
import { parseText, textToBytes, type Text } from '../../domain/text.ts';
import type { RedisGrant, RedisRelease, WordPair } from '../../conventions/convention.ts';
import type { Argument, Command } from './connection.ts';
import type { ReleasePlan } from './preview.ts';
import { releaseScript } from './scripts/release.ts';
import { writtenKeys } from './written-keys.ts';

/**
 * The one command that compares, deletes or replaces, and wakes.
 * @throws {InternalError} there is no grant: the caller has compared it before
 */
export function releaseCommand(plan: ReleasePlan, how: Pick<ReleaseOptions, 'hold'>): Command {
  const { grant, release } = plan;
  if (grant === undefined)
    throw new InternalError('a release without a grant', { code: 'internal' });
  const keys = writtenKeys(grant.key, release).map(keyBytes);
  return [
    'EVAL',
    releaseScript,
    keys.length,
    ...keys,
    grant.type,
    grant.exact ? '1' : '0',
    ...counted(grant.want.map(keyBytes)),
    ...partArguments(grant),
    plan.floor === undefined ? '' : String(plan.floor),
    ...holdArguments(how.hold),
    ...counted(spell(release.hold.as === 'hash' ? release.hold.fields : [])),
    release.history?.maxLength ?? '',
    ...counted(spell(release.history?.released)),
    ...counted(spell(release.history?.held)),
    ...counted(tidying(release)),
    ...counted(messages(release)),
    ...counted(release.push.flatMap(({ value, ttlMs }) => [value, ttlMs])),
    ...counted(queueArguments(release)),
  ];
}

function partArguments({ part = { remove: [], idle: [] } }: RedisGrant): Argument[] {
  return [...counted(part.remove.map(keyBytes)), ...counted(part.idle.map(keyBytes))];
}

function queueArguments({ queue }: RedisRelease): Argument[] {
  return queue === undefined ? [] : [keyBytes(queue.channel), queue.message];
}

function tidying({ alsoDelete, tidy = [] }: RedisRelease): Argument[] {
  return [
    ...alsoDelete.flatMap(() => ['', 'DEL', '']),
    ...tidy.flatMap(({ command, argument, when = '' }) => [when, command, keyBytes(argument)]),
  ];
}

function messages({ publish }: RedisRelease): Argument[] {
  return publish.flatMap(({ channel, message, sharded, when = '' }) => [
    when,
    keyBytes(channel),
    typeof message === 'string' ? literal(parseText(message)) : `$${message.put}`,
    sharded === true ? 'sharded' : '',
  ]);
}

function holdArguments(hold: ReleaseOptions['hold']): Argument[] {
  return hold === undefined ? [''] : [String(hold.ttlMs), keyBytes(hold.owner)];
}

function counted(items: readonly Argument[]): Argument[] {
  return [items.length, ...items];
}

function spell(pairs: readonly WordPair[] = []): Argument[] {
  return pairs.flat().map((word) => ('put' in word ? `$${word.put}` : literal(word.text)));
}

function literal(text: Text): Buffer {
  return Buffer.concat([Buffer.from('='), keyBytes(text)]);
}

/** The server's bytes of a name or value. */
export function keyBytes(text: Text): Buffer {
  return Buffer.from(textToBytes(text));
}
