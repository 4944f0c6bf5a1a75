/** A paid order is never closed: not both steps count on one order, in whichever order. */
import { arrived, rowCounts } from './attempts.ts';
import type { Checker } from './checker.ts';
import { count, perLock, type Findings } from './conclude.ts';
import type { Attempt, LockHistory } from './history.ts';

type Step = 'pay' | 'close';

interface Order {
  readonly arrived: Set<Step>;
  /** Steps that counted, with the events that show it. */
  readonly counted: Map<Step, readonly number[]>;
  readonly maybe: Set<Step>;
}

export const paidOrderNeverClosed: Checker = {
  name: 'paid-order-never-closed',
  title: 'no order is both paid and closed',
  check: (history, spec) => perLock(history, spec, judge),
};

function judge(lock: LockHistory): Findings {
  const orders = collect(lock);
  let exercised = 0;
  let violation: Findings['violation'];
  let doubt: string | undefined;
  for (const [subject, order] of orders) {
    if (order.arrived.size === 2) exercised += 1;
    const [paid, closed] = [order.counted.get('pay'), order.counted.get('close')];
    if (paid !== undefined && closed !== undefined) {
      violation ??= {
        witness: [...paid, ...closed],
        note: `order "${subject}" was paid and closed`,
      };
    }
    const pay = paid !== undefined || order.maybe.has('pay');
    const close = closed !== undefined || order.maybe.has('close');
    if (pay && close) doubt ??= `possible violation: order "${subject}" may be paid and closed`;
  }
  return {
    violation,
    doubt,
    exercised,
    held: `${count(exercised, 'order')} to be both paid and closed, and one step was refused`,
    idle: 'no order was both paid and closed by anybody',
  };
}

function collect(lock: LockHistory): ReadonlyMap<string, Order> {
  const orders = new Map<string, Order>();
  const at = (subject: string): Order => {
    const seen = orders.get(subject) ?? {
      arrived: new Set<Step>(),
      counted: new Map<Step, readonly number[]>(),
      maybe: new Set<Step>(),
    };
    orders.set(subject, seen);
    return seen;
  };
  for (const attempt of lock.attempts) {
    const { business, subject } = attempt.operation.invoke;
    const step = stepOf(business);
    if (step !== undefined && subject !== undefined) note(at(subject), step, attempt);
  }
  for (const fact of lock.observations) {
    const step = fact.fact === 'effect-row' ? stepOf(fact.business) : undefined;
    if (step === undefined || fact.subject === undefined) continue;
    const order = at(fact.subject);
    order.arrived.add(step);
    if (rowCounts(fact) && !order.counted.has(step)) order.counted.set(step, [fact.seq]);
  }
  return orders;
}

function note(order: Order, step: Step, attempt: Attempt): void {
  if (arrived(attempt)) order.arrived.add(step);
  if (attempt.fate === 'counted') order.counted.set(step, attempt.seqs);
  if (attempt.fate === 'maybe') order.maybe.add(step);
}

function stepOf(business: string | undefined): Step | undefined {
  if (business === 'pay-order') return 'pay';
  return business === 'close-order' ? 'close' : undefined;
}
