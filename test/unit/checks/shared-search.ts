/**
 * Random histories of a read/write lock or a semaphore without leases, and the slow and obvious
 * judge of them: tries every order that real time allows. A lost acquire's grant may end by itself.
 */
import fc from 'fast-check';
import { judge } from '../../../src/checks/judge.ts';
import { parseInvariant } from '../../../src/checks/registry.ts';
import type { History } from '../../../src/domain/event.ts';
import { HistoryBuilder } from '../../helpers/history-builder.ts';

/** What an acquire takes: the whole lock, a read lock, or one of so many permits. */
type Kind = 'write' | 'read' | number;

interface Op {
  readonly action: 'acquire' | 'release';
  readonly outcome: 'ok' | 'fail' | 'unknown';
  readonly owner: string;
  readonly kind: Kind;
  readonly start: number;
  readonly reply: number;
}

interface Holder {
  readonly owner: string;
  readonly kind: Kind;
  readonly mayEnd: boolean;
}

/** Whether some order explains every reply. */
export function sharedExplainable(
  left: readonly Op[],
  holders: readonly Holder[] = [],
  dead = new Set<string>(),
): boolean {
  if (left.every(({ outcome }) => outcome === 'unknown')) return true;
  const key = `${left.map(({ start }) => start).join()} ${holders.map(({ owner }) => owner).join()}`;
  if (dead.has(key)) return false;
  const horizon = Math.min(...left.map(({ reply }) => reply));
  const found =
    left.some((op) => {
      const next = op.start > horizon ? undefined : apply(op, holders);
      const rest = left.filter((one) => one !== op);
      return next !== undefined && sharedExplainable(rest, next, dead);
    }) ||
    holders.some((one) => one.mayEnd && sharedExplainable(left, without(holders, one.owner), dead));
  if (!found) dead.add(key);
  return found;
}

function apply(op: Op, holders: readonly Holder[]): readonly Holder[] | undefined {
  const { action, outcome, owner, kind } = op;
  if (action === 'release') {
    return holders.some((one) => one.owner === owner) ? without(holders, owner) : undefined;
  }
  const fits = hasRoom(kind, holders);
  if (outcome === 'fail') return fits ? undefined : holders;
  return fits ? [...holders, { owner, kind, mayEnd: outcome === 'unknown' }] : undefined;
}

function hasRoom(kind: Kind, holders: readonly Holder[]): boolean {
  if (kind === 'write') return holders.length === 0;
  if (kind === 'read') return holders.every((one) => one.kind === 'read');
  return holders.length < kind;
}

function without(holders: readonly Holder[], owner: string): readonly Holder[] {
  return holders.filter((one) => one.owner !== owner);
}

interface Drawn {
  readonly history: History;
  readonly ops: readonly Op[];
}

const step = fc.record({
  lane: fc.nat({ max: 2 }),
  reply: fc.constantFrom('ok', 'ok', 'ok', 'ok', 'fail', 'unknown'),
  write: fc.boolean(),
});

interface Lane {
  begun: number | undefined;
  held: Op | undefined;
  turn: number;
}

/** Three lanes; each step begins or ends the lane's operation. Permits of a semaphore of `limit`. */
function drawn(limit: number | undefined): fc.Arbitrary<Drawn> {
  return fc.array(step, { minLength: 4, maxLength: 16 }).map((steps) => {
    const builder = new HistoryBuilder();
    const ops: Op[] = [];
    const lanes: Lane[] = [0, 1, 2].map(() => ({ begun: undefined, held: undefined, turn: 0 }));
    steps.forEach(({ lane: number, reply, write }, at) => {
      const lane = lanes[number];
      if (lane?.begun === undefined) {
        if (lane !== undefined) lane.begun = at;
        return;
      }
      const times = [lane.begun, at] as const;
      const op = drawOp(lane, number, { reply, kind: limit ?? (write ? 'write' : 'read'), at });
      ops.push(op);
      advance(lane, op);
      writeOp(builder, op, times);
    });
    return { history: builder.build(), ops };
  });
}

function drawOp(
  { begun = 0, held, turn }: Lane,
  number: number,
  { reply, kind, at }: { reply: Op['outcome']; kind: Kind; at: number },
): Op {
  // A release always finds its own record, and a permit is waited for.
  const refusable = held === undefined && typeof kind !== 'number';
  return {
    action: held === undefined ? 'acquire' : 'release',
    outcome: reply === 'fail' && !refusable ? 'ok' : reply,
    owner: held?.owner ?? `w${number}.${turn}`,
    kind: held?.kind ?? kind,
    start: begun,
    reply: reply === 'unknown' ? Infinity : at,
  };
}

function advance(lane: Lane, op: Op): void {
  lane.begun = undefined;
  lane.held = op.action === 'acquire' && op.outcome === 'ok' ? op : undefined;
  if (lane.held === undefined) lane.turn += 1;
}

function writeOp(builder: HistoryBuilder, op: Op, times: readonly [number, number]): void {
  const { action, owner, outcome, kind } = op;
  builder.op(action, owner, times, outcome, {
    invoke: {
      ...(kind === 'read' ? { mode: 'shared' } : {}),
      ...(typeof kind === 'number' ? { limit: kind } : {}),
    },
    complete: outcome === 'fail' ? { code: 'busy' } : {},
  });
}

const rules = ['mutual-exclusion:service', 'no-false-busy'].map(parseInvariant);

/**
 * Judges `runs` random histories both ways. Refusals of a read/write lock are judged leniently: what
 * is called violated must have no explanation, but not the other way round.
 * @param limit permits of a semaphore; undefined for a read/write lock
 * @returns how many of each kind there were
 * @throws with the smallest history found on which the two disagree
 */
export function compareShared(
  limit: number | undefined,
  runs: number,
): { readonly sound: number; readonly not: number } {
  const seen = { sound: 0, not: 0 };
  const agree = ({ history, ops }: Drawn): boolean => {
    const sound = sharedExplainable(ops);
    seen[sound ? 'sound' : 'not'] += 1;
    const violated = judge(history, rules).some(({ verdict }) => verdict === 'violated');
    const exact = ops.every(({ outcome }) => outcome !== 'fail');
    return exact ? violated !== sound : !(violated && sound);
  };
  fc.assert(fc.property(drawn(limit), agree), { numRuns: runs });
  return seen;
}
