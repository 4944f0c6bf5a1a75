/**
 * No release removes somebody else's record. The release's own reply is not evidence; what counts
 * is that another holder's record was gone inside its own hold: an observer saw it gone, the
 * service reported it removed early, or (in histories without observations) the lock was granted
 * to a third party. A fault or an operator's release that explains the loss leaves it open.
 */
import type { ObservationEvent } from '../domain/event.ts';
import type { Checker } from './checker.ts';
import { count, perLock, type Findings } from './conclude.ts';
import type { Grant, HistoryIndex, LockHistory, Operation } from './history.ts';
import { exclusiveHolds } from './holds.ts';
import { grantName, lastSeq } from './witness.ts';

/** How the history shows that a victim's record was gone, and since when at the latest. */
interface Loss {
  readonly atNs: number;
  readonly seq: number;
  readonly how: string;
}

export const noForeignRelease: Checker = {
  name: 'no-foreign-release',
  title: 'no release removes the record of another holder',
  check: (history, spec) => perLock(history, spec, (lock) => judge(history, lock)),
};

function judge(history: HistoryIndex, lock: LockHistory): Findings {
  const reader = new SightingsReader(history, lock);
  let exercised = 0;
  let violation: Findings['violation'];
  let doubt: string | undefined;
  for (const { release, victim } of foreignReleases(lock)) {
    exercised += 1;
    const seen = reader.of(victim);
    const loss = lossOf(victim, release, lock, seen.loss);
    const pair = `${release.invoke.worker}'s release while ${grantName(victim)} held the lock`;
    if (loss === undefined || isOwnDoing(victim, release, loss)) {
      if (!survived(victim, release, seen)) {
        doubt ??= `nobody looked at the record after ${pair}`;
      }
      continue;
    }
    const excuse = explanation(history, victim, loss, seen);
    if (excuse !== undefined) doubt ??= `after ${pair}, ${loss.how}, but ${excuse} may explain it`;
    else if (release.outcome !== 'ok') {
      doubt ??= `possible violation: ${pair} ended ${release.outcome}, and ${loss.how}`;
    } else {
      violation ??= {
        witness: [lastSeq(victim.proof), lastSeq(release), loss.seq],
        note: `${pair} was accepted, and ${loss.how}`,
      };
    }
  }
  return {
    violation,
    doubt,
    exercised,
    held: `${count(exercised, 'release')} by somebody else, and the holder's record stayed`,
    idle: 'nobody released the lock while another held it',
  };
}

/**
 * A plain deletion leaves no trace of who made it. The holder's own release found its record and
 * removed it, the other one says that it did nothing: what was told after both is no third thing.
 */
function isOwnDoing(victim: Grant, release: Operation, loss: Loss): boolean {
  const own = victim.release;
  return release.outcome === 'fail' && own?.outcome === 'ok' && loss.atNs >= own.startNs;
}

/** Releases that may have arrived while another grant was surely held, each with that grant. */
export function foreignReleases(
  lock: LockHistory,
): readonly { readonly release: Operation; readonly victim: Grant }[] {
  const holds = exclusiveHolds(lock);
  return lock.operations.flatMap((release) => {
    if (release.invoke.action !== 'release' || neverSent(release)) return [];
    // A lost reply may still arrive later, but only the first holder it can hit is charged to it.
    const victim = holds.firstMeeting(
      release.startNs,
      release.replyNs,
      (grant) => grant !== release.grant && !sameOwner(grant, release),
    );
    return victim === undefined ? [] : [{ release, victim }];
  });
}

/** A worker that never had the lock, or whose request did not leave, tested nothing. */
function neverSent({ complete }: Operation): boolean {
  const code = complete?.code ?? '';
  return complete?.outcome === 'fail' && (code === 'no-grant' || code === 'worker-busy');
}

function sameOwner(grant: Grant, { invoke }: Operation): boolean {
  // A worker's own read lock and write lock end apart from each other.
  const named = invoke.owner !== undefined || invoke.mode === 'shared';
  return named && invoke.owner === grant.owner && invoke.worker === grant.worker;
}

/** What observers saw inside one grant's hold. */
interface Sightings {
  readonly loss: Loss | undefined;
  /** When its record was last seen there; -Infinity if never. */
  readonly lastSeenNs: number;
  readonly expiry: ObservationEvent | undefined;
}

interface Fact {
  readonly fact: ObservationEvent;
  readonly atNs: number;
}

/** Reads the facts of each victim's hold once, whoever asks about it. */
class SightingsReader {
  readonly #lock: LockHistory;
  readonly #facts: readonly Fact[];
  readonly #early: readonly Fact[];
  readonly #known = new Map<Grant, Sightings>();

  constructor(history: HistoryIndex, lock: LockHistory) {
    this.#lock = lock;
    this.#facts = lock.observations
      .map((fact) => ({ fact, atNs: history.timeOf(fact) }))
      .sort((a, b) => a.atNs - b.atNs);
    this.#early = this.#facts.filter(({ fact }) => fact.cause === 'removed-early');
  }

  of(victim: Grant): Sightings {
    const known = this.#known.get(victim) ?? this.#withToldLater(victim, this.#read(victim));
    this.#known.set(victim, known);
    return known;
  }

  #read(victim: Grant): Sightings {
    const lookedBefore = new Set<string>();
    let seen: Sightings = { loss: undefined, lastSeenNs: -Infinity, expiry: undefined };
    const untilNs = recordEndNs(victim);
    for (let at = this.#firstAt(victim.grantedNs); at < this.#facts.length; at += 1) {
      const entry = this.#facts[at];
      if (entry === undefined || entry.atNs > untilNs) break;
      const { fact, atNs } = entry;
      const own = fact.owner !== undefined && fact.owner === victim.owner;
      if (own && fact.fact === 'expiry') seen = { ...seen, expiry: fact };
      if (own && fact.fact === 'lock-state') seen = { ...seen, lastSeenNs: atNs };
      const how = lossShownBy(fact, victim, lookedBefore);
      if (how !== undefined) seen = { ...seen, loss: seen.loss ?? { atNs, seq: fact.seq, how } };
      if (fact.fact === 'lock-state') lookedBefore.add(fact.process);
    }
    return seen;
  }

  /** That a record was removed early is a fact about its hold, also when read after its end. */
  #withToldLater(victim: Grant, seen: Sightings): Sightings {
    if (seen.loss !== undefined) return seen;
    const untilNs = recordEndNs(victim);
    const told = this.#early.find(
      ({ fact, atNs }) =>
        atNs > untilNs && victim.owner !== undefined && fact.owner === victim.owner,
    );
    const again = this.#lock.grants.find(
      ({ index, owner }) => index > victim.index && owner === victim.owner,
    );
    // An owner token used again: the fact may be about the later hold.
    if (told === undefined || (again?.startNs ?? Infinity) < told.atNs) return seen;
    const how = `the record of ${grantName(victim)} was removed`;
    return { ...seen, loss: { atNs: told.atNs, seq: told.fact.seq, how } };
  }

  #firstAt(instant: number): number {
    let low = 0;
    let high = this.#facts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#facts[middle]?.atNs ?? Infinity) >= instant) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/**
 * Until when the victim's record should have stayed. Being told of the loss ends its belief, but
 * is itself an effect of the removal: what an observer reads after it still counts.
 */
function recordEndNs(victim: Grant): number {
  if (victim.endNs !== victim.lossNs) return victim.endNs;
  return Math.min(victim.release?.startNs ?? Infinity, victim.validUntilNs);
}

/** The record was reported removed, or an observer that had looked since the grant saw it gone. */
function lossShownBy(
  fact: ObservationEvent,
  victim: Grant,
  lookedBefore: ReadonlySet<string>,
): string | undefined {
  const own = fact.owner !== undefined && fact.owner === victim.owner;
  if (own && fact.fact === 'removal' && fact.cause !== 'force-released') {
    return `the record of ${grantName(victim)} was removed`;
  }
  if (fact.fact !== 'lock-state' || victim.owner === undefined) return undefined;
  const gone = fact.absent === true || (fact.owner !== undefined && !own);
  // A first reading may have been answered before the grant: only a later one shows the loss.
  return gone && lookedBefore.has(fact.process)
    ? `the record of ${grantName(victim)} was seen gone`
    : undefined;
}

function lossOf(
  victim: Grant,
  release: Operation,
  lock: LockHistory,
  observed: Loss | undefined,
): Loss | undefined {
  if (observed !== undefined && observed.atNs >= release.startNs) return observed;
  // Granted to a third party: asked for and answered inside the victim's hold.
  const next = lock.grants[victim.index + 1];
  if (next === undefined || next.grantedNs >= victim.endNs) return undefined;
  if (next.worker === victim.worker && next.sharing !== undefined) return undefined;
  if (next.startNs < victim.grantedNs || next.grantedNs < release.startNs) return undefined;
  return {
    atNs: next.grantedNs,
    seq: lastSeq(next.proof),
    how: `the lock was granted to ${grantName(next)} before ${grantName(victim)}'s ended`,
  };
}

/** Somebody saw the victim's record, or the service still treated it as the holder, afterwards. */
function survived(victim: Grant, release: Operation, seen: Sightings): boolean {
  const renewedNs = victim.renewals.at(-1)?.startNs ?? -Infinity;
  const lastNs = Math.max(renewedNs, seen.lastSeenNs);
  if (lastNs >= release.replyNs) return true;
  // One without a reply may arrive at any time; but the holder found its record when it left.
  return (
    release.outcome === 'unknown' && lastNs >= release.startNs && victim.release?.outcome === 'ok'
  );
}

const disruptive =
  /evict|failover|restart|amnesia|primary|replica|revok|session|clock|quorum|leader/;

function explanation(
  history: HistoryIndex,
  victim: Grant,
  loss: Loss,
  seen: Sightings,
): string | undefined {
  if (victim.endedBy !== undefined) return `its end by ${victim.endedBy.cause ?? 'the service'}`;
  if (seen.expiry !== undefined) return 'an expiry';
  const fault = history.faults.find(
    (one) =>
      one.phase === 'begin' &&
      disruptive.test(one.fault) &&
      history.timeOf(one) <= loss.atNs &&
      (endOf(history, one.faultId) ?? Infinity) >= victim.grantedNs,
  );
  return fault && `the fault ${fault.fault}`;
}

function endOf(history: HistoryIndex, faultId: string): number | undefined {
  const end = history.faults.find((one) => one.phase === 'end' && one.faultId === faultId);
  return end && history.timeOf(end);
}
