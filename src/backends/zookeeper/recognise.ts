/** Chooses the convention of a record: the surest match, the rest as candidates. */
import type { ZooKeeperConvention, ZooKeeperRecord } from '../../conventions/convention.ts';
import type { ConventionSet } from '../../conventions/convention-set.ts';
import { sequentialNodes } from '../../conventions/plain-zookeeper.ts';
import { unrecognised, type Confidence, type ConventionId } from '../../domain/lock.ts';
import type { Recognized } from './snapshot.ts';

export type ZooKeeperConventions = ConventionSet<ZooKeeperConvention>;

const rank: Readonly<Record<Confidence, number>> = { high: 2, medium: 1, low: 0 };

/** Undefined when no convention claims the record. */
export function recognise(
  record: ZooKeeperRecord,
  conventions: ZooKeeperConventions,
  allowed: readonly ConventionId[] | undefined,
): Recognized | undefined {
  const own = surest(record, conventions.own, allowed);
  return own ?? surest(record, conventions.builtIn, allowed);
}

function surest(
  record: ZooKeeperRecord,
  conventions: readonly ZooKeeperConvention[],
  allowed: readonly ConventionId[] | undefined,
): Recognized | undefined {
  const claims = conventions.flatMap((convention) => {
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

/** The convention that the caller named. */
export function forced(convention: ZooKeeperConvention): Recognized {
  const { id, title } = convention;
  return {
    convention,
    recognition: { convention: id, title, confidence: 'high', candidates: [], forced: true },
  };
}

const emptyParent: ConventionId = 'empty-parent';

/** The convention of a record that no layout claims. */
export function isNoLayout(id: ConventionId): boolean {
  return id === unrecognised || id === emptyParent;
}

/** What is said of a record that no convention claims: a lock whose contenders came and went, or none. */
export function unclaimed(record: ZooKeeperRecord): Recognized {
  const empty = record.children.length === 0 && record.node.ephemeralOwner === 0n;
  const used = empty && record.cversion > 0;
  return {
    convention: sequentialNodes,
    recognition: {
      convention: used ? emptyParent : unrecognised,
      title: used ? 'empty parent (library unknown)' : 'no lock layout recognised',
      confidence: 'low',
      candidates: [],
      forced: false,
    },
  };
}
