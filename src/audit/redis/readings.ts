/** Settings and INFO fields of a Redis server as readings. */
import type { AuditedSetting, RedisFacts } from '../../domain/redis-facts.ts';
import { unknown } from '../../domain/known.ts';
import type { AuditFacts } from '../check.ts';
import type { Reading } from '../readings.ts';

type RedisAuditFacts = AuditFacts<RedisFacts>;

export function setting({ server }: RedisAuditFacts, name: AuditedSetting): Reading {
  return {
    command: `CONFIG GET ${name}`,
    answer: server.settings.get(name) ?? unknown(`${name} was not read`),
  };
}

/** A field of INFO. `absent` stands for a field that the server leaves out when there is nothing to say. */
export function info({ server }: RedisAuditFacts, field: string, absent?: string): Reading {
  const command = `INFO ${field}`;
  if (server.info.kind === 'unknown') return { command, answer: server.info };
  const value = server.info.value.get(field) ?? absent;
  return {
    command,
    answer:
      value === undefined
        ? unknown(`INFO has no ${field}`, `ask whoever runs this server for ${field}`)
        : { kind: 'known', value },
  };
}
