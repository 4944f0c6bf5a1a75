/** Which layout a record is in, and whether it counts as a lock. */
import {
  unrecognised,
  type Confidence,
  type ConventionId,
  type Recognition,
} from '../../domain/lock.ts';
import type { Text } from '../../domain/text.ts';
import type { EtcdConvention, EtcdRecord } from '../../conventions/convention.ts';
import type { ConventionSet } from '../../conventions/convention-set.ts';
import { plainEtcd } from '../../conventions/etcd-single-key.ts';

export type EtcdConventions = ConventionSet<EtcdConvention>;

export interface Recognised {
  readonly convention: EtcdConvention;
  readonly confidence: Confidence;
  readonly candidates: readonly ConventionId[];
  readonly forced: boolean;
}

export const confidenceRank: Readonly<Record<Confidence, number>> = { high: 2, medium: 1, low: 0 };

/** The surest convention; undefined for what is nobody's lock. */
export function recognise(
  record: EtcdRecord,
  isLockName: (name: Text) => boolean,
  conventions: EtcdConventions,
): Recognised | undefined {
  const own = surest(record, isLockName, conventions.own);
  return own === undefined
    ? surest(record, isLockName, conventions.builtIn)
    : { ...own, candidates: [] };
}

function surest(
  record: EtcdRecord,
  isLockName: (name: Text) => boolean,
  conventions: readonly EtcdConvention[],
): Recognised | undefined {
  const matching: { convention: EtcdConvention; confidence: Confidence }[] = [];
  for (const convention of conventions) {
    const confidence =
      convention === plainEtcd ? plainConfidence(record, isLockName) : convention.matches(record);
    if (confidence !== undefined) matching.push({ convention, confidence });
  }
  const [first, ...rest] = matching;
  if (first === undefined) return undefined;
  const best = rest.reduce(
    (sofar, one) =>
      confidenceRank[one.confidence] > confidenceRank[sofar.confidence] ? one : sofar,
    first,
  );
  const { convention, confidence } = best;
  // Any single key could be a home-made lock: that is no ambiguity worth telling.
  const others = matching.filter((one) => one !== best && one.convention !== plainEtcd);
  return {
    convention,
    confidence,
    candidates: others.map((one) => one.convention.id),
    forced: false,
  };
}

/** A key on a lease under a lock's name is a lock; one without a lease, or a name, may be. */
function plainConfidence(
  record: EtcdRecord,
  isLockName: (name: Text) => boolean,
): Confidence | undefined {
  if (plainEtcd.matches(record) === undefined) return undefined;
  const leased = record.keys[0]?.lease !== 0n;
  if (isLockName(record.name)) return leased ? 'medium' : 'low';
  return leased ? 'low' : undefined;
}

/** Whether a listing shows the record without being asked for everything. */
export function isLock(
  record: EtcdRecord,
  recognised: Recognised | undefined,
  isLockName: (name: Text) => boolean,
): recognised is Recognised {
  return recognised !== undefined && (recognised.confidence !== 'low' || isLockName(record.name));
}

/** How a recognition is shown. */
export function toRecognition(recognised: Recognised | undefined): Recognition {
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
  return { convention: convention.id, title: convention.title, confidence, candidates, forced };
}
