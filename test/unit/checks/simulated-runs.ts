/**
 * Runs of a correct fenced lock service and a correct fenced resource, in virtual time: each
 * operation takes effect at one moment inside its interval, and some replies are lost.
 */
import type { History } from '../../../src/domain/event.ts';
import { HistoryBuilder, type OperationFields } from '../../helpers/history-builder.ts';

interface Worker {
  readonly lane: number;
  id: string;
  generation: number;
  fence: bigint | undefined;
}

interface Done {
  readonly outcome: 'ok' | 'fail';
  readonly fields: OperationFields;
}

const leaseMs = 200;
const lanes = 3;

/** One run twice: with the replies as they were, and with the lost ones lost. */
export function simulate(seed: number): { readonly told: History; readonly lost: History } {
  const random = generator(seed);
  const told = new HistoryBuilder({ accept: 'greater-or-equal' });
  const lost = new HistoryBuilder({ accept: 'greater-or-equal' });
  const world = new World();
  const workers = Array.from({ length: lanes }, (_, lane): Worker => {
    return { lane, id: `w${lane}`, generation: 0, fence: undefined };
  });
  const freeAt = workers.map(() => 0);
  let nowMs = 0;
  for (let round = 0; round < 14; round += 1) {
    // The world must be told one thing after the other: the earliest effect of all is next.
    const [earliest] = workers
      .map((worker) => {
        const startMs = (freeAt[worker.lane] ?? 0) + 1 + Math.floor(random() * 60);
        const effectMs = Math.max(startMs, nowMs) + 1 + random() * 40;
        return { worker, startMs, effectMs, tailMs: 1 + random() * 40 };
      })
      .sort((a, b) => a.effectMs - b.effectMs);
    if (earliest === undefined) break;
    const { worker, startMs, effectMs, tailMs } = earliest;
    const action = nextAction(worker, random());
    const applied = random() < 0.8;
    const isLost = !applied || random() < 0.15;
    const replyMs = effectMs + tailMs;
    const done = applied ? world.apply(action, worker, effectMs) : undefined;
    const invoke = fieldsOf(action, worker);
    record(told, action, worker.id, [startMs, replyMs], done ?? notSent, invoke);
    if (isLost) lost.op(action, worker.id, [startMs, replyMs], 'unknown', { invoke });
    else record(lost, action, worker.id, [startMs, replyMs], done ?? notSent, invoke);
    freeAt[worker.lane] = replyMs;
    nowMs = effectMs;
    learn(worker, action, isLost ? undefined : done);
  }
  return { told: told.build(), lost: lost.build() };
}

const notSent: Done = { outcome: 'fail', fields: { complete: { code: 'connect-failed' } } };

/** The service and the resource: one holder with a lease, one register with the largest token. */
class World {
  #holder: { fence: bigint; untilMs: number } | undefined;
  #fence = 0n;
  #accepted = 0n;
  #version = 0n;

  apply(action: Action, worker: Worker, atMs: number): Done {
    if (this.#holder !== undefined && this.#holder.untilMs <= atMs) this.#holder = undefined;
    if (action === 'acquire') return this.#acquire(atMs);
    const own = this.#holder?.fence === worker.fence;
    if (action === 'write') return this.#write(worker.fence ?? 0n);
    if (!own) return { outcome: 'fail', fields: { complete: { code: 'not-owner' } } };
    if (action === 'release') this.#holder = undefined;
    else this.#holder = { fence: worker.fence ?? 0n, untilMs: atMs + leaseMs };
    return {
      outcome: 'ok',
      fields: { complete: action === 'renew' ? { grantedTtlMs: leaseMs } : {} },
    };
  }

  #acquire(atMs: number): Done {
    if (this.#holder !== undefined)
      return { outcome: 'fail', fields: { complete: { code: 'busy' } } };
    this.#fence += 1n;
    this.#holder = { fence: this.#fence, untilMs: atMs + leaseMs };
    return {
      outcome: 'ok',
      fields: { complete: { fence: this.#fence, grantedTtlMs: leaseMs } },
    };
  }

  #write(fence: bigint): Done {
    if (fence < this.#accepted) {
      return { outcome: 'fail', fields: { complete: { accepted: false, code: 'stale-token' } } };
    }
    this.#accepted = fence;
    this.#version += 1n;
    return {
      outcome: 'ok',
      fields: { complete: { accepted: true, version: this.#version } },
    };
  }
}

type Action = 'acquire' | 'renew' | 'release' | 'write';

function nextAction(worker: Worker, draw: number): Action {
  if (worker.fence === undefined) return 'acquire';
  return draw < 0.5 ? 'write' : draw < 0.75 ? 'renew' : 'release';
}

function fieldsOf(action: Action, worker: Worker): NonNullable<OperationFields['invoke']> {
  if (action !== 'write' || worker.fence === undefined) return {};
  return { fence: worker.fence, resource: 'orders', business: 'write', subject: 'register' };
}

function record(
  history: HistoryBuilder,
  action: Action,
  worker: string,
  times: readonly [number, number],
  { outcome, fields }: Done,
  invoke: NonNullable<OperationFields['invoke']>,
): void {
  history.op(action, worker, times, outcome, { ...fields, invoke });
}

/** A worker retires after a lost reply, a release or a refusal; the next one has a new id. */
function learn(worker: Worker, action: Action, done: Done | undefined): void {
  const granted = action === 'acquire' && done?.outcome === 'ok';
  const goesOn = done?.outcome === 'ok' && action !== 'release';
  if (granted) worker.fence = done.fields.complete?.fence;
  if (goesOn) return;
  worker.generation += 1;
  worker.id = `w${worker.lane}.${worker.generation}`;
  worker.fence = undefined;
}

/** A small seeded generator (mulberry32): runs repeat. */
function generator(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
