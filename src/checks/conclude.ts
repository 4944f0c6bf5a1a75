/** Turns what a checker found on one lock into a result, so that all of them word it alike. */
import type { InvariantSpec, Span } from '../domain/scenario.ts';
import type { CheckResult } from '../domain/verdict.ts';
import type { HistoryIndex, LockHistory } from './history.ts';

/** What a checker found on one lock. The first of violation, doubt and idleness decides. */
export interface Findings {
  readonly violation?: { readonly witness: readonly number[]; readonly note: string } | undefined;
  /** Why the verdict depends on something nobody knows. */
  readonly doubt?: string | undefined;
  /** How often the history put the invariant to the test; 0 is never a pass. */
  readonly exercised: number;
  /** Sentence for `held`. */
  readonly held: string;
  /** Sentence for `not-exercised`: what did not happen. */
  readonly idle: string;
  /** Worth saying whatever the verdict. */
  readonly remarks?: readonly string[];
}

/** The name a result carries: `mutual-exclusion:service`, or the bare invariant. */
export function invariantName(spec: Pick<InvariantSpec, 'name' | 'level'>): string {
  return spec.level === undefined ? spec.name : `${spec.name}:${spec.level}`;
}

/** One result for each lock of the history; one not-exercised result where it names none. */
export function perLock(
  history: HistoryIndex,
  spec: Pick<InvariantSpec, 'name' | 'level'>,
  judge: (lock: LockHistory) => Findings,
): readonly CheckResult[] {
  const invariant = invariantName(spec);
  if (history.locks.size === 0) {
    const note = 'the history names no lock';
    return [{ invariant, verdict: 'not-exercised', witness: [], exercised: 0, note }];
  }
  return [...history.locks.values()].map((lock) => ({
    invariant,
    lock: lock.name,
    ...conclude(judge(lock)),
  }));
}

function conclude(found: Findings): Omit<CheckResult, 'invariant' | 'lock'> {
  const { exercised } = found;
  const say = (note: string): string => [note, ...(found.remarks ?? [])].join('; ');
  if (found.violation !== undefined) {
    const witness = [...new Set(found.violation.witness)].sort((a, b) => a - b);
    return {
      verdict: 'violated',
      witness,
      exercised: Math.max(1, exercised),
      note: say(found.violation.note),
    };
  }
  if (found.doubt !== undefined) {
    return { verdict: 'inconclusive', witness: [], exercised, note: say(found.doubt) };
  }
  if (exercised === 0) {
    return { verdict: 'not-exercised', witness: [], exercised, note: say(found.idle) };
  }
  return { verdict: 'held', witness: [], exercised, note: say(found.held) };
}

/** `factor * lease + add` in ns; undefined when the factor needs a lease nobody knows. */
export function spanNs(span: Span, leaseMs: number | undefined): number | undefined {
  if (span.leaseFactor !== 0 && leaseMs === undefined) return undefined;
  return (span.leaseFactor * (leaseMs ?? 0) + span.addMs) * 1e6;
}

/** Nanoseconds as milliseconds for people: `2000 ms`, `0.05 ms`. */
export function formatNs(ns: number): string {
  const ms = ns / 1e6;
  return `${Number.isInteger(ms) ? ms : Number(ms.toPrecision(3))} ms`;
}

/** `1 takeover`, `2 takeovers`. */
export function count(amount: number, thing: string): string {
  return `${amount} ${thing}${amount === 1 ? '' : 's'}`;
}
