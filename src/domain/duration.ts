/** Durations as people write them (`2s`, `500ms`, `1h30m`): the only place that knows the units. */
import { UsageError } from './errors.ts';

const unitsMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const shape = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/;

/**
 * Parses a duration with its unit.
 * @returns milliseconds, possibly fractional
 * @throws {UsageError} when the unit is missing or unknown
 */
export function parseDuration(text: string): number {
  const trimmed = text.trim();
  if (!shape.test(trimmed)) {
    const bare = /^\d+(\.\d+)?$/.test(trimmed);
    throw new UsageError(bare ? `duration "${text}" has no unit` : `"${text}" is not a duration`, {
      code: 'bad-duration',
      hint: bare ? `write ${trimmed}s or ${trimmed}ms` : 'write 500ms, 2s, 10m or 1h30m',
      definite: true,
    });
  }
  let totalMs = 0;
  for (const [, amount, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    totalMs += Number(amount) * (unitsMs[unit ?? ''] ?? 0);
  }
  return totalMs;
}

/** Short form for tables: `850ms`, `2.1s`, `21s`, `6m`, `4h12m`, `3d4h`. */
export function formatDuration(ms: number): string {
  const abs = Math.abs(ms);
  const sign = ms < 0 ? '-' : '';
  if (abs < 1000) return `${sign}${Math.round(abs)}ms`;
  if (abs < 9950) return `${sign}${(abs / 1000).toFixed(1).replace(/\.0$/, '')}s`;
  const seconds = Math.round(abs / 1000);
  if (seconds < 60) return `${sign}${seconds}s`;
  if (seconds < 3600) return sign + pair(Math.floor(seconds / 60), 'm', seconds % 60, 's');
  const minutes = Math.round(abs / 60_000);
  if (minutes < 1440) return sign + pair(Math.floor(minutes / 60), 'h', minutes % 60, 'm');
  const hours = Math.round(abs / 3_600_000);
  return sign + pair(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function pair(big: number, bigUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${big}${bigUnit}` : `${big}${bigUnit}${small}${smallUnit}`;
}
