/** Which layout a record is in, and whether it counts as a lock. */
import type { Confidence, ConventionId, Recognition } from '../../domain/lock.ts';
import { unrecognised } from '../../domain/lock.ts';
import type { Text } from '../../domain/text.ts';
import type { ConventionSet } from '../../conventions/convention-set.ts';
import type { Decoded, RedisConvention, RedisRecord } from '../../conventions/convention.ts';
import { weakness } from '../../conventions/owner-shape.ts';
import { plainRedis } from '../../conventions/plain-redis.ts';

export type RedisConventions = ConventionSet<RedisConvention>;

export interface Recognised {
  readonly convention: RedisConvention;
  readonly confidence: Confidence;
  readonly candidates: readonly ConventionId[];
  readonly forced: boolean;
}

const rank: Readonly<Record<Confidence, number>> = { high: 2, medium: 1, low: 0 };

/**
 * The surest convention. A string is a lock by its name (`isLockName`), or, at low confidence, by a
 * value that looks like a random token; any other string is nobody's lock.
 */
export function recognise(
  record: RedisRecord,
  isLockName: (name: Text) => boolean,
  conventions: RedisConventions,
): Recognised | undefined {
  const own = surest(record, conventions.own);
  if (own !== undefined) return { ...own, candidates: [], forced: false };
  const found = surest(record, conventions.builtIn);
  if (found === undefined) return undefined;
  const { convention, candidates } = found;
  const confidence =
    convention === plainRedis ? plainConfidence(record, isLockName) : found.confidence;
  if (confidence === undefined) return undefined;
  return { convention, confidence, candidates, forced: false };
}

/** Of equally sure claims the first; the other claims are the candidates. */
function surest(
  record: RedisRecord,
  conventions: readonly RedisConvention[],
): Omit<Recognised, 'forced'> | undefined {
  let best: { convention: RedisConvention; confidence: Confidence } | undefined;
  const candidates: ConventionId[] = [];
  for (const convention of conventions) {
    if (!convention.types.includes(record.type)) continue;
    const confidence = convention.matches(record);
    if (confidence === undefined) continue;
    candidates.push(convention.id);
    if (best === undefined || rank[confidence] > rank[best.confidence]) {
      best = { convention, confidence };
    }
  }
  if (best === undefined) return undefined;
  const { id } = best.convention;
  return {
    ...best,
    candidates: candidates.length === 1 ? [] : candidates.filter((one) => one !== id),
  };
}

function plainConfidence(
  record: RedisRecord,
  isLockName: (name: Text) => boolean,
): Confidence | undefined {
  const { key, value } = record;
  const looksLikeData = value === undefined || /^(?:[[{]|[+-]?\d+(?:\.\d+)?$)/.test(value);
  if (isLockName(key)) return looksLikeData ? 'low' : 'medium';
  return value !== undefined && weakness(value) === undefined ? 'low' : undefined;
}

/** Whether a listing shows the record without being asked for everything. */
export function isLock(
  record: RedisRecord,
  recognised: Recognised | undefined,
  isLockName: (name: Text) => boolean,
): recognised is Recognised {
  return recognised !== undefined && (recognised.confidence !== 'low' || isLockName(record.key));
}

/** Whose helper this key is: that lock's key. */
export function ownerOfHelper(
  key: Text,
  conventions: RedisConventions,
): { readonly lock: Text; readonly convention: RedisConvention } | undefined {
  for (const convention of conventions.all) {
    const lock = convention.helperOf(key);
    if (lock !== undefined) return { lock, convention };
  }
  return undefined;
}

/** How a recognition is shown. */
export function toRecognition(
  recognised: Recognised | undefined,
  decoded: Decoded | undefined,
): Recognition {
  if (recognised === undefined) {
    return {
      convention: unrecognised,
      title: 'no lock layout recognised',
      confidence: 'low',
      candidates: [],
      forced: false,
    };
  }
  const { convention, confidence, candidates, forced } = recognised;
  return {
    convention: convention.id,
    title: decoded?.title ?? convention.title,
    confidence,
    candidates,
    forced,
  };
}
