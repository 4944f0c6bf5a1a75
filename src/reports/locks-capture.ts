/** What is said of a capture wherever its locks are shown: of what, when, and by which program. */
import type { CapturedQuery, CapturedTarget, CaptureFacts } from '../domain/capture.ts';
import { formatDuration } from '../domain/duration.ts';
import { valueOf } from '../domain/known.ts';
import { amount, foundWords, hiddenWords, tailLines, type ListSummary } from './locks-list.ts';

/** The same for machines. */
export interface CaptureOrigin {
  readonly takenAt: string;
  /** By this machine's clock. */
  readonly ageMs: number;
  readonly tool: string;
  readonly targets: readonly CapturedTarget[];
  readonly query: CapturedQuery;
}

/** @param nowMs this machine's wall clock */
export function captureOrigin(facts: CaptureFacts, nowMs: number): CaptureOrigin {
  const { takenAt, tool, targets, query } = facts;
  return { takenAt, ageMs: nowMs - Date.parse(takenAt), tool, targets, query };
}

/** `capture of redis://a (Redis 7.0.15), taken 2026-12-03 02:10:00 UTC, 3h ago, by fencepost 0.1.0` */
export function captureSentence({ takenAt, ageMs, tool, targets, query }: CaptureOrigin): string {
  const named = targets.map(({ display, version }) => {
    const known = valueOf(version);
    return known === undefined ? display : `${display} (${known})`;
  });
  const age =
    ageMs < 0
      ? `${formatDuration(-ageMs)} in the future of this machine's clock`
      : `${formatDuration(ageMs)} ago`;
  const only = query.pattern === undefined ? '' : `; only names like ${query.pattern}`;
  return `capture of ${named.join(', ')}, taken ${instantWord(takenAt)}, ${age}, by ${tool}${only}`;
}

/** An RFC 3339 time for people, to the second. */
export function instantWord(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
}

/** Lines for stderr below the locks of a capture. */
export function captureSummaryLines(summary: ListSummary, query: CapturedQuery): readonly string[] {
  const parts = [
    foundWords(summary),
    ...(summary.others > 0 && !query.all
      ? [`${amount(summary.others, 'other record')} not in the capture`]
      : []),
    ...hiddenWords(summary),
  ];
  return [parts.join(' · '), ...tailLines(summary)];
}
