/**
 * Facts with the command they came from, and the one rule all checks share: what is not known is
 * judged unknown, never passed.
 */
import type { AuditEvidence, Judgement } from '../domain/audit-report.ts';
import { mapKnown, unknown, type Known } from '../domain/known.ts';

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

/**
 * Decides once every reading is known; otherwise unknown, with the reason of each that is not. What was
 * read with holes can show a fault, but not that there is none.
 */
export function judgeBy(
  readings: readonly Reading[],
  decide: (values: readonly string[]) => Decision | Judgement,
): Judgement {
  const evidence = readings.flatMap(evidenceOf);
  const unread = readings.flatMap(({ answer }) => (answer.kind === 'unknown' ? [answer] : []));
  if (unread.length > 0) return undecided(unread, evidence);
  const decision = decide(valuesOf(readings));
  const judged = 'state' in decision ? decision : decided(decision, evidence);
  const holes = readings.flatMap(({ answer }) => (answer.kind === 'partial' ? [answer] : []));
  return judged.state === 'pass' && holes.length > 0 ? undecided(holes, evidence) : judged;
}

/** The answers that are there. */
function valuesOf(readings: readonly Reading[]): readonly string[] {
  return readings.flatMap(({ answer }) => (answer.kind === 'unknown' ? [] : [answer.value]));
}

function decided({ ok, found, wanted }: Decision, evidence: readonly AuditEvidence[]): Judgement {
  return { state: ok ? 'pass' : 'fail', found, wanted, evidence };
}

function undecided(
  holes: readonly { readonly reason: string; readonly remedy?: string }[],
  evidence: readonly AuditEvidence[],
): Judgement {
  const distinct = (words: readonly string[]): string => [...new Set(words)].join('; ');
  return {
    state: 'unknown',
    reason: distinct(holes.map(({ reason }) => reason)),
    remedy: distinct(holes.map(({ remedy }) => remedy ?? 'ask whoever runs this server')),
    evidence,
  };
}

/** Judges each reading alone: one fault is enough to fail, and passing needs every one. */
export function judgeEach(
  readings: readonly Reading[],
  fault: (value: string) => string | undefined,
  wanted: string,
): Judgement {
  const bad = readings.flatMap((one) => {
    const text = one.answer.kind === 'unknown' ? undefined : fault(one.answer.value);
    return text === undefined ? [] : [{ one, text }];
  });
  if (bad.length === 0) {
    return judgeBy(readings, (values) => ({
      ok: true,
      found: [...new Set(values)].join('; '),
      wanted,
    }));
  }
  const found = [...new Set(bad.map(({ text }) => text))].join('; ');
  return judgeBy(
    bad.map(({ one }) => one),
    () => ({ ok: false, found, wanted }),
  );
}

/** What is found wrong in several answers taken together, and how it is told that nothing is. */
export interface Together {
  readonly fault: (values: readonly string[]) => string | undefined;
  readonly sound: (values: readonly string[]) => string;
  readonly wanted: string;
}

/** Judges readings by each other: a fault among those that answered is enough to fail, and passing
 * needs every one, and `others` too. */
export function judgeTogether(
  readings: readonly Reading[],
  others: readonly Reading[],
  { fault, sound, wanted }: Together,
): Judgement {
  const found = fault(valuesOf(readings));
  if (found === undefined) {
    return judgeBy([...readings, ...others], (values) => ({
      ok: true,
      found: sound(values),
      wanted,
    }));
  }
  const heard = readings.filter(({ answer }) => answer.kind !== 'unknown');
  return judgeBy(heard, () => ({ ok: false, found, wanted }));
}

export function notApplicable(reason: string): Judgement {
  return { state: 'not-applicable', reason, evidence: [] };
}

function evidenceOf({ command, answer }: Reading): readonly AuditEvidence[] {
  return answer.kind === 'unknown' ? [] : [{ command, value: answer.value }];
}
