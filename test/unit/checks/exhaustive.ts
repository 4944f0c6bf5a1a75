/**
 * The slow and obvious judge of one fenced lock without leases: tries every order of the operations
 * that real time allows. A lost operation may never have happened; a lost acquire's grant may end
 * by itself at any time. For histories of about eight operations.
 */
import type { History, HistoryEvent } from '../../../src/domain/event.ts';

type Invoke = Extract<HistoryEvent, { kind: 'invoke' }>;

interface Op {
  readonly action: 'acquire' | 'release';
  readonly outcome: 'ok' | 'fail' | 'unknown';
  readonly worker: string;
  readonly start: number;
  readonly reply: number;
  readonly fence: bigint;
}

interface State {
  readonly holder: string | undefined;
  /** The holder's acquire was lost: its grant may end by itself. */
  readonly mayEnd: boolean;
  readonly fence: bigint;
}

/** Whether some order explains every reply. */
export function explainable(history: History): boolean {
  return search(operations(history), { holder: undefined, mayEnd: false, fence: -1n }, new Set());
}

function operations(history: History): readonly Op[] {
  const completes = new Map(
    history.events.flatMap((event) => (event.kind === 'complete' ? [[event.op, event]] : [])),
  );
  return history.events
    .filter((event): event is Invoke => event.kind === 'invoke')
    .map(({ op, action, worker, atNs }) => {
      const complete = completes.get(op);
      const outcome = complete?.outcome ?? 'unknown';
      return {
        action: action === 'release' ? 'release' : 'acquire',
        outcome,
        worker,
        start: Number(atNs),
        reply: complete === undefined || outcome === 'unknown' ? Infinity : Number(complete.atNs),
        fence: complete?.fence ?? -1n,
      };
    });
}

function search(left: readonly Op[], state: State, dead: Set<string>): boolean {
  if (left.every(({ outcome }) => outcome === 'unknown')) return true;
  const key = `${left.map(({ start }) => start).join()} ${state.holder} ${state.fence}`;
  if (dead.has(key)) return false;
  // Whatever comes next must have begun before the first remaining reply.
  const horizon = Math.min(...left.map(({ reply }) => reply));
  for (const op of left) {
    if (op.start > horizon) continue;
    const next = apply(op, state);
    const rest = left.filter((one) => one !== op);
    if (next !== undefined && search(rest, next, dead)) return true;
  }
  if (state.mayEnd && search(left, { ...state, holder: undefined, mayEnd: false }, dead))
    return true;
  dead.add(key);
  return false;
}

function apply(op: Op, state: State): State | undefined {
  const { action, outcome, worker, fence } = op;
  if (action === 'release') {
    return state.holder === worker ? { ...state, holder: undefined } : undefined;
  }
  if (outcome === 'fail') return state.holder === undefined ? undefined : state;
  if (state.holder !== undefined) return undefined;
  if (outcome === 'unknown') return { ...state, holder: worker, mayEnd: true };
  return fence > state.fence ? { holder: worker, mayEnd: false, fence } : undefined;
}
