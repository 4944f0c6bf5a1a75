/**
 * Builds the grants of one lock from its operations: which acquire made each, which renewals and
 * releases belong to it, and until when it was surely held (its core, in judging terms).
 */
import type {
  CompleteEvent,
  HistoryEvent,
  InvokeEvent,
  NoticeEvent,
  ObservationEvent,
} from '../domain/event.ts';
import type { Grant, Operation, Sharing } from './history.ts';

/** An operation while the index is being built. */
export type OpenOperation = { -readonly [Key in keyof Operation]: Operation[Key] };

export interface IndexOptions {
  /** Lease of acquires whose history names none, in ms. */
  readonly leaseMs?: number;
}

type OpenGrant = { -readonly [Key in keyof Grant]: Grant[Key] } & { renewals: Operation[] };
type TimeOf = (event: HistoryEvent) => number;

/** Codes of a refused renewal, confirmation or release that tell the holder it holds no more. */
const lossCodes: ReadonlySet<string> = new Set([
  'not-owner',
  'not-held',
  'lost',
  'gone',
  'expired',
  'lease-not-found',
  'session-expired',
  'session-ended',
]);

/** Whether this reply told the worker that the lock is not (or no longer) its own. */
export function tellsLoss(complete: CompleteEvent | undefined): boolean {
  return complete?.outcome === 'fail' && lossCodes.has(complete.code ?? '');
}

/** Grants in the order of their replies. Sets `grant` on the operations done under one. */
export function buildGrants(
  timeline: readonly (OpenOperation | NoticeEvent | ObservationEvent)[],
  timeOf: TimeOf,
  options: IndexOptions,
): readonly Grant[] {
  const builder = new GrantBuilder(timeOf, options);
  for (const entry of timeline) {
    if ('invoke' in entry) builder.add(entry);
    else if (entry.kind === 'notice') builder.lose(entry);
    else builder.observe(entry);
  }
  return builder.finish();
}

/** State of one pass over a lock's events, operations at their invocation. Each step is O(1). */
class GrantBuilder {
  readonly #timeOf: TimeOf;
  readonly #options: IndexOptions;
  readonly #grants: OpenGrant[] = [];
  readonly #byWorker = new Map<string, OpenGrant>();
  /** Read locks and permits, which a worker may have beside the exclusive lock. */
  readonly #sharedByWorker = new Map<string, OpenGrant>();
  readonly #byOwner = new Map<string, OpenGrant>();
  readonly #byIdentity = new Map<string, OpenGrant>();
  /** Acquires whose reply was lost, by owner: a later confirm proves them. */
  readonly #unproven = new Map<string, OpenOperation>();

  constructor(timeOf: TimeOf, options: IndexOptions) {
    this.#timeOf = timeOf;
    this.#options = options;
  }

  add(operation: OpenOperation): void {
    switch (operation.invoke.action) {
      case 'acquire':
        this.#acquire(operation);
        return;
      case 'confirm':
        this.#confirm(operation);
        return;
      case 'renew':
        this.#renew(operation);
        return;
      case 'release':
        this.#release(operation);
        return;
      case 'write':
      case 'effect':
      case 'checkpoint':
        operation.grant = this.#grantOf(operation);
    }
  }

  lose(notice: NoticeEvent): void {
    const { owner, worker, fence } = notice;
    const at = this.#timeOf(notice);
    const grant = owner === undefined ? this.#byWorker.get(worker) : this.#ownedBy(owner, fence);
    if (grant !== undefined && grant.grantedNs <= at) told(grant, at, notice.seq);
  }

  /** An end that the service or an operator decided; a lease that merely ran out is no news. */
  observe(fact: ObservationEvent): void {
    if (fact.fact !== 'removal' && fact.fact !== 'expiry') return;
    const grant = fact.owner === undefined ? undefined : this.#ownedBy(fact.owner, fact.fence);
    if (grant === undefined || grant.grantedNs > this.#timeOf(fact)) return;
    const decided = fact.cause === 'force-released' || fact.cause === 'session-ended';
    const ranOut = fact.cause === 'expired' && grant.validUntilNs === Infinity;
    if (decided || ranOut) grant.endedBy ??= fact;
  }

  finish(): readonly Grant[] {
    this.#grants.sort((a, b) => a.grantedNs - b.grantedNs);
    this.#grants.forEach((grant, index) => {
      grant.index = index;
      const releasedNs = grant.release?.startNs ?? Infinity;
      grant.endNs = Math.min(releasedNs, grant.lossNs, grant.validUntilNs);
      // The fact says that the record had ended, not when: only the last word before it is sure.
      if (grant.endedBy !== undefined) {
        const lastSeen = Math.max(grant.grantedNs, grant.renewals.at(-1)?.replyNs ?? 0);
        grant.endNs = Math.min(grant.endNs, lastSeen);
      }
    });
    return this.#grants;
  }

  #acquire(operation: OpenOperation): void {
    const { owner } = operation.invoke;
    if (operation.outcome === 'unknown' && owner !== undefined) {
      this.#unproven.set(owner, operation);
    }
    if (operation.outcome !== 'ok') return;
    const same = this.#sameGrant(operation);
    if (same === undefined) this.#grant(operation, operation.startNs);
    else {
      // The same owner token gave back the same grant: idempotent, or held once more.
      operation.grant = same;
      if (operation.complete?.holdCount !== undefined) same.depth += 1;
      extend(same, this.#validUntil(operation, same));
    }
  }

  #sameGrant(operation: OpenOperation): OpenGrant | undefined {
    const { owner, limit } = operation.invoke;
    const fence = operation.complete?.fence;
    if (owner === undefined || limit !== undefined) return undefined;
    const own = this.#own(operation.invoke);
    const nested = operation.complete?.holdCount !== undefined;
    if (fence !== undefined && !nested) {
      const owned = this.#ownedBy(owner, fence);
      return owned?.fence === fence ? owned : undefined;
    }
    return own?.owner === owner && own.release === undefined ? own : undefined;
  }

  #confirm(operation: OpenOperation): void {
    const known = this.#grantOf(operation);
    operation.grant = known;
    const { owner } = operation.invoke;
    const lost = owner === undefined ? undefined : this.#unproven.get(owner);
    if (operation.outcome !== 'ok') {
      if (known !== undefined) this.#refused(known, operation);
    } else if (lost !== undefined || known === undefined) {
      this.#grant(operation, lost?.startNs ?? operation.startNs);
      if (owner !== undefined) this.#unproven.delete(owner);
    } else if (operation.complete?.validUntilNs !== undefined) {
      extend(known, this.#validUntil(operation, known));
    }
  }

  #renew(operation: OpenOperation): void {
    const grant = this.#grantOf(operation);
    operation.grant = grant;
    if (grant === undefined || grant.release !== undefined) return;
    if (operation.outcome !== 'ok') this.#refused(grant, operation);
    else {
      grant.renewals.push(operation);
      extend(grant, this.#validUntil(operation, grant));
    }
  }

  #release(operation: OpenOperation): void {
    const grant = this.#grantOf(operation);
    operation.grant = grant;
    if (grant === undefined) return;
    if (!stillHeld(grant, operation)) grant.release ??= operation;
    this.#refused(grant, operation);
  }

  #refused(grant: OpenGrant, operation: Operation): void {
    const { complete } = operation;
    if (complete !== undefined && tellsLoss(complete)) {
      told(grant, operation.replyNs, complete.seq);
    }
  }

  #grant(operation: OpenOperation, startNs: number): void {
    const { invoke, complete, replyNs } = operation;
    const { owner, worker } = invoke;
    const leaseMs = complete?.grantedTtlMs ?? invoke.leaseMs ?? this.#options.leaseMs;
    const grant: OpenGrant = {
      lock: invoke.lock,
      worker,
      process: invoke.process,
      owner,
      fence: complete?.fence,
      index: 0,
      sharing: sharingOf(invoke),
      depth: 1,
      proof: operation,
      startNs,
      grantedNs: replyNs,
      validUntilNs: Infinity,
      leaseMs,
      renewals: [],
      release: undefined,
      lossNs: Infinity,
      lossSeq: undefined,
      endNs: Infinity,
      endedBy: undefined,
    };
    grant.validUntilNs = this.#validUntil(operation, grant);
    operation.grant = grant;
    this.#grants.push(grant);
    (grant.sharing === undefined ? this.#byWorker : this.#sharedByWorker).set(worker, grant);
    if (owner === undefined) return;
    const earlier = this.#byOwner.get(owner);
    this.#byOwner.set(owner, grant);
    // An owner with one grant, the usual case, needs no second map.
    for (const one of earlier === undefined ? [] : [earlier, grant]) {
      if (one.fence !== undefined) this.#byIdentity.set(identity(owner, one.fence), one);
    }
  }

  /** A holder counts its lease from before it asked: the server's cannot end earlier. */
  #validUntil(operation: Operation, grant: Pick<Grant, 'leaseMs'>): number {
    const { invoke, complete } = operation;
    if (complete?.validUntilNs !== undefined) {
      const leftNs = Number(complete.validUntilNs - invoke.atNs);
      return operation.startNs + leftNs;
    }
    const leaseMs = complete?.grantedTtlMs ?? invoke.leaseMs ?? grant.leaseMs;
    return leaseMs === undefined ? Infinity : operation.startNs + leaseMs * 1e6;
  }

  /** The worker's own latest grant; by owner token where a worker continues under a new id. */
  #grantOf(operation: Operation): OpenGrant | undefined {
    const { owner, fence } = operation.invoke;
    const own = this.#own(operation.invoke);
    if (owner === undefined || own?.owner === owner) return own;
    return this.#ownedBy(owner, fence);
  }

  /** The exclusive one, unless a read lock is meant or only a read lock or permit is left. */
  #own({ worker, mode }: InvokeEvent): OpenGrant | undefined {
    const shared = this.#sharedByWorker.get(worker);
    if (mode === 'shared') return shared;
    const exclusive = this.#byWorker.get(worker);
    if (shared === undefined || mode === 'exclusive') return exclusive;
    return exclusive === undefined || exclusive.release !== undefined ? shared : exclusive;
  }

  #ownedBy(owner: string, fence: bigint | undefined): OpenGrant | undefined {
    const latest = this.#byOwner.get(owner);
    if (latest === undefined || fence === undefined || latest.fence === fence) return latest;
    return this.#byIdentity.get(identity(owner, fence)) ?? latest;
  }
}

/** What an acquire asks for; undefined for an exclusive lock. */
export function sharingOf({ mode, limit, permits }: InvokeEvent): Sharing | undefined {
  if (limit !== undefined) return { permits: permits ?? 1, limit };
  return mode === 'shared' ? { permits: 1, limit: Infinity } : undefined;
}

/** Counts one release, and says whether its owner surely holds the lock (reentrant) even so. */
function stillHeld(grant: OpenGrant, { outcome, complete }: Operation): boolean {
  if (outcome === 'fail') return grant.depth > 1 && !tellsLoss(complete);
  grant.depth = (outcome === 'ok' ? complete?.holdCount : undefined) ?? grant.depth - 1;
  return grant.depth > 0;
}

function identity(owner: string, fence: bigint): string {
  return `${fence} ${owner}`;
}

function extend(grant: OpenGrant, untilNs: number): void {
  if (untilNs > grant.validUntilNs) grant.validUntilNs = untilNs;
}

function told(grant: OpenGrant, atNs: number, seq: number): void {
  if (atNs >= grant.lossNs) return;
  grant.lossNs = atNs;
  grant.lossSeq = seq;
}
