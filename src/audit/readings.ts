/**
 * Facts with the command they came from, and the one rule all checks share: what is not known is
 * judged unknown, never passed.
 */
import type { AuditEvidence, Judgement } from '../domain/audit-report.ts';
import { mapKnown, unknown, type Known } from '../domain/known.ts';
import type { AuditedSetting } from '../domain/redis-facts.ts';
import type { AuditFacts } from './check.ts';

/** One fact as text, and what was asked for it. */
export interface Reading {
  readonly command: string;
  readonly answer: Known<string>;
}

/** Pass or fail, with what was found and what would be right. */
export interface Decision {
  readonly ok: boolean;
  readonly found: string;
  readonly wanted: string;
}

export function setting({ redis }: AuditFacts, name: AuditedSetting): Reading {
  return {
    command: `CONFIG GET ${name}`,
    answer: redis.settings.get(name) ?? unknown(`${name} was not read`),
  };
}

/** A field of INFO. `absent` stands for a field that the server leaves out when there is nothing to say. */
export function info({ redis }: AuditFacts, field: string, absent?: string): Reading {
  const command = `INFO ${field}`;
  if (redis.info.kind === 'unknown') return { command, answer: redis.info };
  const value = redis.info.value.get(field) ?? absent;
  return {
    command,
    answer:
      value === undefined
        ? unknown(`INFO has no ${field}`, `ask whoever runs this server for ${field}`)
        : { kind: 'known', value },
  };
}

/** The first that is known: managed servers hide CONFIG, and INFO tells some of the same. */
export function either(first: Reading, second: Reading): Reading {
  return first.answer.kind === 'unknown' && second.answer.kind !== 'unknown' ? second : first;
}

/** Any other fact as a reading. */
export function reading<T>(command: string, fact: Known<T>, words: (value: T) => string): Reading {
  return { command, answer: mapKnown(fact, words) };
}

/** The reading, unknown where its answer is not of this form: what says nothing neither passes nor fails. */
export function inForm({ command, answer }: Reading, form: RegExp): Reading {
  if (answer.kind === 'unknown' || form.test(answer.value)) return { command, answer };
  const reason = `${command} answered "${answer.value}"`;
  return { command, answer: unknown(reason, 'look at the server, or at what stands before it') };
}

/** A reading that must be a whole number. */
export function whole(one: Reading): Reading {
  return inForm(one, /^\d+$/);
}

/** Decides once every reading is known; otherwise unknown, for the reason of the first that is not. */
export function judgeBy(
  readings: readonly Reading[],
  decide: (values: readonly string[]) => Decision | Judgement,
): Judgement {
  const evidence = readings.flatMap(evidenceOf);
  const values: string[] = [];
  for (const { answer } of readings) {
    if (answer.kind === 'unknown') {
      const remedy = answer.remedy ?? 'ask whoever runs this server';
      return { state: 'unknown', reason: answer.reason, remedy, evidence };
    }
    values.push(answer.value);
  }
  const decision = decide(values);
  if ('state' in decision) return decision;
  const { ok, found, wanted } = decision;
  return { state: ok ? 'pass' : 'fail', found, wanted, evidence };
}

export function notApplicable(reason: string): Judgement {
  return { state: 'not-applicable', reason, evidence: [] };
}

function evidenceOf({ command, answer }: Reading): readonly AuditEvidence[] {
  return answer.kind === 'unknown' ? [] : [{ command, value: answer.value }];
}
