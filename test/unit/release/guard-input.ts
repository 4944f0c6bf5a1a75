/** A lock that may be released without a second thought, to be made worse one fact at a time. */
import { known, unknown } from '../../../src/domain/known.ts';
import type { RenewalSample } from '../../../src/domain/lease.ts';
import type { IdentityRecord, LockDetail, OwnerEvidence } from '../../../src/domain/lock.ts';
import type { Probe } from '../../../src/domain/probe.ts';
import type { ReleasePreview } from '../../../src/domain/release.ts';
import { stringToText } from '../../../src/domain/text.ts';
import type { GuardInput, ReleaseRequest } from '../../../src/release/guard.ts';

const server = { endpoint: '10.0.0.4:6379', role: known('primary') };
const can = { can: true } as const;

const probe: Probe = {
  version: known('Redis 7.0.15'),
  topology: known('standalone'),
  clusterId: known('3f9c'),
  server,
  writable: can,
  healthy: known(can),
  clockOffsetMs: known(0),
  capabilities: {
    release: can,
    hold: can,
    endSession: can,
    history: can,
    clients: can,
    waiters: can,
  },
};

export function evidence(change: Partial<OwnerEvidence>): OwnerEvidence {
  return {
    name: 'owner-connection',
    source: 'CLIENT LIST',
    points: 'dead',
    finding: known('no such connection'),
    ...change,
  };
}

export const owner = stringToText('7a02be10c4d14f6b');

const detail: LockDetail = {
  ref: { name: stringToText('lock:eod') },
  state: 'held',
  recognition: {
    convention: 'plain',
    title: 'plain string',
    confidence: 'high',
    candidates: [],
    forced: false,
  },
  mode: 'exclusive',
  holders: known([{ owner, place: unknown('a random token'), holds: 1 }]),
  lease: { kind: 'ttl', ttlMs: 600_000, grantedMs: known(600_000) },
  waiters: { kind: 'exact', list: [] },
  fence: { kind: 'none' },
  heldForMs: known(1),
  helpers: [],
  notes: [],
  identity: { expect: 'r1.5be2c07d', record: 'opaque' as IdentityRecord },
  server,
  evidence: [evidence({})],
  facts: {},
};

export function sample(change: Partial<RenewalSample>): RenewalSample {
  return {
    windowMs: 20_000,
    neededMs: known(20_000),
    observations: [],
    renewals: known(0),
    outcome: 'not-renewed',
    note: 'the TTL fell',
    ...change,
  };
}

const preview: ReleasePreview = {
  deletes: [],
  wakes: [],
  next: known('nobody'),
  raisesFence: undefined,
  atomicity: 'one script',
  alsoFalls: known([]),
  warnings: [],
  possible: can,
};

const request: ReleaseRequest = {
  execute: true,
  expect: 'r1.5be2c07d',
  interactive: false,
  confirm: 'lock:eod',
  reason: 'INC-4711',
  holdMs: undefined,
  endSession: false,
  fenceFloor: undefined,
  notify: undefined,
};

export interface InputChange {
  readonly probe?: Partial<Probe>;
  readonly detail?: Partial<LockDetail>;
  readonly preview?: Partial<ReleasePreview>;
  readonly request?: Partial<ReleaseRequest>;
  readonly sample?: RenewalSample | 'none';
  readonly lastReleaseAgoMs?: number;
  readonly recentReleases?: number;
  readonly holdPossible?: boolean;
  readonly auditProblem?: string;
}

/** The blameless input with some facts changed. */
export function guardInput(change: InputChange = {}): GuardInput {
  return {
    probe: { ...probe, ...change.probe },
    detail: { ...detail, ...change.detail },
    sample: change.sample === 'none' ? undefined : (change.sample ?? sample({})),
    liveness: { verdict: 'undecided', reasons: [] },
    preview: { ...preview, ...change.preview },
    holdPossible: change.holdPossible ?? false,
    request: { ...request, ...change.request },
    soonMs: 10_000,
    lastReleaseAgoMs: change.lastReleaseAgoMs,
    recentReleases: change.recentReleases ?? 0,
    auditProblem: change.auditProblem,
  };
}
