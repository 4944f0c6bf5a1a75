/** Spans as scenarios write them: `2s`, `2x lease`, `lease + 500ms`. The lease is the granted one. */
import { formatDuration, parseDuration } from './duration.ts';
import { UsageError } from './errors.ts';
import type { Span } from './scenario.ts';

const leaseTerm = /^(?:(\d+(?:\.\d+)?)\s*x\s+)?(?:lease|ttl)$/;

/**
 * Parses a sum of durations and multiples of the lease.
 * @throws {UsageError} `bad-duration` when a unit is missing or a term is neither
 */
export function parseSpan(text: string): Span {
  let leaseFactor = 0;
  let addMs = 0;
  for (const term of text.split('+').map((part) => part.trim())) {
    const match = leaseTerm.exec(term);
    if (match !== null) leaseFactor += Number(match[1] ?? 1);
    else addMs += parseTerm(term, text);
  }
  return { leaseFactor, addMs };
}

function parseTerm(term: string, whole: string): number {
  try {
    return parseDuration(term);
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause;
    const bare = /^\d+(\.\d+)?$/.test(term);
    throw new UsageError(bare ? `"${whole}" has no unit` : `"${whole}" is not a time span`, {
      code: 'bad-duration',
      hint: bare
        ? `write ${term}s, ${term}ms or ${term}x lease`
        : 'write 500ms, 2s, 2x lease or lease + 2s',
      cause,
      definite: true,
    });
  }
}

/** Milliseconds of `span` for a lease of `leaseMs`. */
export function spanMs(span: Span, leaseMs: number): number {
  return span.leaseFactor * leaseMs + span.addMs;
}

/** The span as a person would write it. */
export function formatSpan(span: Span): string {
  const lease = span.leaseFactor === 1 ? 'lease' : `${span.leaseFactor}x lease`;
  const terms = [
    ...(span.leaseFactor === 0 ? [] : [lease]),
    ...(span.addMs === 0 && span.leaseFactor !== 0 ? [] : [formatDuration(span.addMs)]),
  ];
  return terms.join(' + ');
}
