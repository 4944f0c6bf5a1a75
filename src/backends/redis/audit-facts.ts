/** Reads what an audit judges of one server: a round of cheap read-only commands, and nothing else. */
import { known, unknown, type Known } from '../../domain/known.ts';
import {
  auditedSettings,
  type AuditedSetting,
  type RedisFacts,
  type SlowCommand,
} from '../../domain/redis-facts.ts';
import { bytesToText, stringToText, textToBytes, type Text } from '../../domain/text.ts';
import type { Command, RedisConnection, RequestOptions } from './connection.ts';
import { isRefusal, isUnknownCommand } from './errors.ts';
import { asArray, asBuffer, asNumber, asText, parsePairs } from './replies.ts';

/** Newest entries of the slow log that are looked at: what the server keeps by default. */
const slowlogEntries = 128;

/** @throws {TargetError} unreachable, or no Redis; a refused command only leaves its fact unknown */
export async function readAuditFacts(
  connection: RedisConnection,
  encrypted: boolean,
  signal: AbortSignal,
): Promise<RedisFacts> {
  const how = { signal };
  const commands: Command[] = [
    ['INFO'],
    ['ROLE'],
    ['SLOWLOG', 'GET', slowlogEntries],
    ['ACL', 'WHOAMI'],
    ['ACL', 'GETUSER', 'default'],
    ...auditedSettings.map((name): Command => ['CONFIG', 'GET', name]),
  ];
  const at = new Date().toISOString();
  const [info, role, slowlog, whoami, defaultUser, ...config] = await connection.sendAll(
    commands,
    how,
  );
  const account = answered(whoami, 'ACL WHOAMI', '+acl|whoami', asText);
  return {
    kind: 'redis',
    server: connection.endpoint,
    at,
    encrypted,
    info: answered(info, 'INFO', '+info', infoFields),
    settings: new Map(auditedSettings.map((name, index) => [name, settingOf(name, config[index])])),
    role: answered(role, 'ROLE', '+role', (reply, what) =>
      asText(asArray(reply, what)[0], what) === 'master' ? 'primary' : 'replica',
    ),
    slowest: answered(slowlog, 'SLOWLOG GET', '+slowlog|get', slowestOf),
    openToAll: answered(defaultUser, 'ACL GETUSER default', '+acl|getuser', isOpen),
    account,
    mayWrite: await mayWrite(connection, account, how),
  };
}

/** The parsed reply; a refusal, or a command that this server does not offer, is unknown. */
function answered<T>(
  reply: unknown,
  command: string,
  permission: string,
  parse: (reply: unknown, what: string) => T,
): Known<T> {
  if (!(reply instanceof Error)) return known(parse(reply, command));
  if (isRefusal(reply)) {
    return unknown(`${command} was refused (NOPERM)`, `needs ${permission}`);
  }
  const ask = `ask whoever runs this server for the answer to ${command}`;
  if (isUnknownCommand(reply)) return unknown(`${command} is not offered by this server`, ask);
  if ('code' in reply && reply.code === 'server-error') {
    return unknown(`${command}: ${reply.message}`, ask);
  }
  throw reply;
}

function infoFields(reply: unknown, what: string): ReadonlyMap<string, Text> {
  const pairs = parsePairs(asBuffer(reply, what).toString('latin1'), /\r?\n/, ':');
  return new Map(
    [...pairs].map(([name, value]) => [
      stringToText(name),
      bytesToText(Buffer.from(value, 'latin1')),
    ]),
  );
}

function settingOf(name: AuditedSetting, reply: unknown): Known<Text> {
  const command = `CONFIG GET ${name}`;
  const found = answered(reply, command, '+config|get', (answer, what) => asArray(answer, what)[1]);
  if (found.kind === 'unknown') return found;
  return found.value === undefined
    ? unknown(`this server tells no ${name}`, `ask whoever runs this server for ${name}`)
    : known(asText(found.value, command));
}

function slowestOf(reply: unknown, what: string): SlowCommand | 'none' {
  let slowest: SlowCommand | 'none' = 'none';
  const entries = asArray(reply, what);
  for (const entry of entries) {
    const [, , micros, words] = asArray(entry, what);
    const tookMs = asNumber(micros, what) / 1000;
    if (slowest !== 'none' && slowest.tookMs >= tookMs) continue;
    // Its arguments are other people's data: the command alone is kept.
    slowest = { name: asText(asArray(words, what)[0], what), tookMs, among: entries.length };
  }
  return slowest;
}

/** `flags` of ACL GETUSER: `on` and `nopass` together mean that nobody is asked anything. */
function isOpen(reply: unknown, what: string): boolean {
  const fields = asArray(reply, what);
  const at = fields.findIndex((field) => Buffer.isBuffer(field) && field.toString() === 'flags');
  const flags = asArray(fields[at + 1], what).map((flag) => asText(flag, what));
  return ['on', 'nopass'].every((wanted) => flags.some((flag) => flag === wanted));
}

/** Asks the server's own ACL, which runs nothing. */
async function mayWrite(
  connection: RedisConnection,
  account: Known<Text>,
  how: RequestOptions,
): Promise<Known<boolean>> {
  if (account.kind === 'unknown') return account;
  const [reply] = await connection.sendAll(
    [['ACL', 'DRYRUN', Buffer.from(textToBytes(account.value)), 'SET', 'fencepost:audit', '']],
    how,
  );
  return answered(
    reply,
    'ACL DRYRUN',
    '+acl|dryrun',
    (answer, what) => asText(answer, what) === 'OK',
  );
}
