/** Which layout a record is in, and whether it counts as a lock. */
import type { Confidence, ConventionId, Recognition } from '../../domain/lock.ts';
import { unrecognised } from '../../domain/lock.ts';
import type { Text } from '../../domain/text.ts';
import type { ConventionSet } from '../../conventions/convention-set.ts';
import type {
  Decoded,
  RedisConvention,
  RedisRecord,
  RedisType,
} from '../../conventions/convention.ts';
import { looksLikeData, weakness } from '../../conventions/owner-shape.ts';
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
  const own = surest(claimsOf(record, isLockName, conventions.own));
  return own === undefined
    ? surest(claimsOf(record, isLockName, conventions.builtIn))
    : { ...own, candidates: [] };
}

function claimsOf(
  record: RedisRecord,
  isLockName: (name: Text) => boolean,
  conventions: readonly RedisConvention[],
): readonly Claim[] {
  const claims: Claim[] = [];
  for (const convention of ofType(conventions, record.type)) {
    const confidence =
      convention === plainRedis ? plainConfidence(record, isLockName) : convention.matches(record);
    if (confidence !== undefined) claims.push({ convention, confidence });
  }
  return claims;
}

type ByType = Partial<Record<RedisType, readonly RedisConvention[]>>;
const indexes = new WeakMap<readonly RedisConvention[], ByType>();

/** Those that can be of this type. Sorted out once: a listing asks for each of a million keys. */
function ofType(
  conventions: readonly RedisConvention[],
  type: RedisType,
): readonly RedisConvention[] {
  let index = indexes.get(conventions);
  if (index === undefined) indexes.set(conventions, (index = {}));
  return (index[type] ??= conventions.filter(({ types }) => types.includes(type)));
}

interface Claim {
  readonly convention: RedisConvention;
  readonly confidence: Confidence;
}

/**
 * Of equally sure claims the first; the others that are as sure are its candidates. A plain string
 * has every other claim for a candidate, and is one only where nothing more is known.
 */
function surest(claims: readonly Claim[]): Recognised | undefined {
  let best: Claim | undefined;
  for (const claim of claims) {
    if (best === undefined || rank[claim.confidence] > rank[best.confidence]) best = claim;
  }
  if (best === undefined) return undefined;
  const { convention, confidence } = best;
  const atLeast = convention === plainRedis ? 0 : rank[confidence];
  const rivals = claims.filter(
    (one) =>
      one.convention !== convention &&
      rank[one.confidence] >= atLeast &&
      (one.convention !== plainRedis || confidence === 'low'),
  );
  return {
    convention,
    confidence,
    candidates: rivals.map((one) => one.convention.id),
    forced: false,
  };
}

function plainConfidence(
  record: RedisRecord,
  isLockName: (name: Text) => boolean,
): Confidence | undefined {
  const { key, value } = record;
  if (isLockName(key)) return value === undefined || looksLikeData(value) ? 'low' : 'medium';
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
  for (const convention of conventions.every) {
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
