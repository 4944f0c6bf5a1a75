/** Chooses the convention of a record: the surest match, the rest as candidates. */
import type { ZooKeeperRecord } from '../../conventions/convention.ts';
import { zookeeperConventions } from '../../conventions/zookeeper-index.ts';
import { UsageError } from '../../domain/errors.ts';
import type { Confidence, ConventionId } from '../../domain/lock.ts';
import { nearestName } from '../../domain/nearest.ts';
import type { Recognized } from './snapshot.ts';

const rank: Readonly<Record<Confidence, number>> = { high: 2, medium: 1, low: 0 };

/** Undefined when no convention claims the record. */
export function recognise(
  record: ZooKeeperRecord,
  allowed: readonly ConventionId[] | undefined,
): Recognized | undefined {
  const claims = zookeeperConventions.flatMap((convention) => {
    if (allowed !== undefined && !allowed.includes(convention.id)) return [];
    const confidence = convention.matches(record);
    return confidence === undefined ? [] : [{ convention, confidence }];
  });
  // The list is ordered most specific first, so an equal claim further down does not win.
  const best = claims.reduce<(typeof claims)[number] | undefined>(
    (top, next) => (top === undefined || rank[next.confidence] > rank[top.confidence] ? next : top),
    undefined,
  );
  if (best === undefined) return undefined;
  const { convention, confidence } = best;
  return {
    convention,
    recognition: {
      convention: convention.id,
      title: convention.title,
      confidence,
      candidates: claims
        .filter((claim) => claim !== best && rank[claim.confidence] === rank[confidence])
        .map((claim) => claim.convention.id),
      forced: false,
    },
  };
}

/**
 * The convention that the caller named.
 * @throws {UsageError} `unknown-convention`
 */
export function forcedConvention(id: ConventionId): Recognized {
  const ids = zookeeperConventions.map((one) => one.id);
  const convention = zookeeperConventions.find((one) => one.id === id);
  if (convention === undefined) {
    const near = nearestName(id, ids);
    throw new UsageError(`there is no ZooKeeper convention "${id}"`, {
      code: 'unknown-convention',
      hint: near === undefined ? `known: ${ids.join(', ')}` : `did you mean "${near}"?`,
      definite: true,
    });
  }
  const { title } = convention;
  return {
    convention,
    recognition: { convention: id, title, confidence: 'high', candidates: [], forced: true },
  };
}
