/**
 * One lock on several independent servers as one: it is held by the owner that a majority has. Pure:
 * the servers were read before. A server that could not be read counts neither for nor against.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { InternalError } from '../../domain/errors.ts';
import { known, unknown, valueOf } from '../../domain/known.ts';
import type { Lease } from '../../domain/lease.ts';
import type {
  IdentityRecord,
  LockIdentity,
  LockNote,
  LockSnapshot,
  LockState,
  ServerView,
} from '../../domain/lock.ts';
import { formatDuration } from '../../domain/duration.ts';

/** What one server has. */
export type NodeView =
  | { readonly kind: 'has'; readonly endpoint: string; readonly lock: LockSnapshot }
  | { readonly kind: 'lacks'; readonly endpoint: string }
  | { readonly kind: 'unread'; readonly endpoint: string; readonly why: string };

type Having = NodeView & { readonly kind: 'has' };

export function majorityOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1;
}

/** Undefined when no server that could be read has it. */
export function combine(views: readonly NodeView[]): LockSnapshot | undefined {
  const having = views.filter((view) => view.kind === 'has');
  const [first] = having;
  if (first === undefined) return undefined;
  const leading = leadingOwner(having);
  const state = stateOf(views, having, leading);
  const lease = shortest(leading);
  return {
    ...first.lock,
    state,
    holders:
      state === 'split'
        ? known(having.flatMap(({ lock }) => valueOf(lock.holders) ?? []))
        : (leading[0] ?? first).lock.holders,
    lease,
    notes: [...(leading[0] ?? first).lock.notes, ...notesOf(views, leading)],
    identity: identityOf(views, leading),
    server: serverOf(views),
  };
}

/** The servers whose owner most of them have. */
function leadingOwner(having: readonly Having[]): readonly Having[] {
  const groups = new Map<string, Having[]>();
  for (const view of having) {
    const owner = ownerOf(view.lock);
    groups.set(owner, [...(groups.get(owner) ?? []), view]);
  }
  return [...groups.values()].reduce((best, group) => (group.length > best.length ? group : best));
}

function ownerOf(lock: LockSnapshot): string {
  return (valueOf(lock.holders) ?? []).map(({ owner }) => owner).join(' ');
}

function stateOf(
  views: readonly NodeView[],
  having: readonly Having[],
  leading: readonly Having[],
): LockState {
  if (leading.length >= majorityOf(views.length)) return leading[0]?.lock.state ?? 'held';
  return having.length > leading.length ? 'split' : 'partial';
}

/** It is valid for no longer than the server that forgets it first keeps it. */
function shortest(leading: readonly Having[]): Lease {
  const leases = leading.map(({ lock }) => lock.lease);
  const [first = { kind: 'unknown', reason: 'nobody holds it' }, ...rest] = leases;
  return rest.reduce<Lease>(
    (least, lease) =>
      lease.kind === 'ttl' && (least.kind !== 'ttl' || lease.ttlMs < least.ttlMs) ? lease : least,
    first,
  );
}

/** One line for each server that is not like the majority, and the count. */
function notesOf(views: readonly NodeView[], leading: readonly Having[]): readonly LockNote[] {
  const majority = majorityOf(views.length);
  const holds = leading.length >= majority;
  const unread = views.filter((view) => view.kind === 'unread');
  const owner = leading[0] === undefined ? 'nobody' : ownerOf(leading[0].lock);
  const count: LockNote = {
    code: 'majority',
    severity: holds ? 'info' : 'warn',
    text: `${owner} has it on ${leading.length} of ${views.length} servers${holds ? '' : `, and needs ${majority}: nobody holds it for sure`}`,
  };
  return [
    count,
    ...views.flatMap((view): LockNote[] =>
      view.kind === 'has' && !leading.includes(view)
        ? [{ code: 'other-owner', severity: 'warn', text: `${view.endpoint}: ${lineOf(view)}` }]
        : [],
    ),
    ...unread.map(({ endpoint, why }): LockNote => ({
      code: 'unread-server',
      severity: 'warn',
      text: `${endpoint} could not be read: ${why}`,
    })),
  ];
}

/** `7a02… , 12 s left`: what one server has, for facts and notes. */
export function lineOf(view: NodeView): string {
  if (view.kind === 'lacks') return 'no record';
  if (view.kind === 'unread') return `unread: ${view.why}`;
  const { lease } = view.lock;
  const left = lease.kind === 'ttl' ? `${formatDuration(lease.ttlMs)} left` : 'no TTL';
  return `${ownerOf(view.lock)}, ${left}`;
}

function serverOf(views: readonly NodeView[]): ServerView {
  const readable = views.filter(({ kind }) => kind !== 'unread');
  const roles = views.flatMap((view) =>
    view.kind === 'has' ? [valueOf(view.lock.server.role) ?? '?'] : [],
  );
  const odd = roles.find((role) => role !== 'primary');
  return {
    endpoint: views.map(({ endpoint }) => endpoint).join(','),
    role: odd === undefined ? known('primary') : unknown(`one of the servers is a ${odd}`),
    via: `${readable.length} of ${views.length} servers read`,
    doubts: views.flatMap((view) =>
      view.kind === 'unread' ? [`${view.endpoint} could not be read: ${view.why}`] : [],
    ),
  };
}

const shape = z.strictObject({
  nodes: z.number().int().positive(),
  grants: z.array(z.strictObject({ endpoint: z.string(), expect: z.string(), record: z.string() })),
});

/** The grants of the leading owner, one for each server that has it. */
export interface RedlockIdentity {
  readonly nodes: number;
  readonly grants: readonly (LockIdentity & { readonly endpoint: string })[];
}

function identityOf(
  views: readonly NodeView[],
  leading: readonly Having[],
): LockIdentity | undefined {
  const grants = leading.flatMap(({ endpoint, lock }) => {
    if (lock.identity === undefined) return [];
    const { expect, record } = lock.identity;
    return [{ endpoint, expect, record }];
  });
  if (grants.length === 0) return undefined;
  // The same grant whichever of the servers could be read: all of them have the same value.
  const digest = createHash('sha256')
    .update(grants[0]?.expect ?? '')
    .digest('hex');
  const record = JSON.stringify({ nodes: views.length, grants }) as IdentityRecord;
  return { expect: `rl1.${digest.slice(0, 8)}`, record };
}

/** @throws {InternalError} when it is not one of ours */
export function readRedlockIdentity(identity: IdentityRecord): RedlockIdentity {
  const parsed = shape.safeParse(JSON.parse(identity));
  if (!parsed.success) {
    throw new InternalError('a lock identity of another backend was passed to Redlock', {
      code: 'foreign-identity',
      cause: parsed.error,
      definite: true,
    });
  }
  const { nodes, grants } = parsed.data;
  return {
    nodes,
    grants: grants.map((grant) => ({ ...grant, record: grant.record as IdentityRecord })),
  };
}
