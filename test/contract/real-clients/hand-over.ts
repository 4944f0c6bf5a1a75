/** What every real client's lock must go through: planned, released by force, and the waiter gets it. */
import { expect } from 'vitest';
import type { LockDetail } from '../../../src/domain/lock.ts';
import type { Client } from './client-program.ts';
import type { Executed, Operator, Plan } from './operator.ts';

export interface HandedOver {
  readonly plan: Plan;
  readonly done: Executed;
  /** What the waiter said when it got the lock, after `begins`. */
  readonly next: string;
}

/**
 * The waiter must hold nothing before. `record`: what the plan deletes, and nothing else; nobody is
 * sent anything, as these clients poll or watch.
 */
export async function handOver(
  operator: Operator,
  lock: LockDetail,
  to: {
    readonly waiter: Client;
    readonly record: string;
    readonly begins?: string;
  },
): Promise<HandedOver> {
  const { waiter, record, begins = 'holds ' } = to;
  const plan = await operator.plan(lock);
  // Nobody watched for renewals, and these owners live on or cannot be looked up.
  expect(plan.refusedBy).toEqual(['no-renewal', 'owner-connection']);
  expect(plan.preview).toMatchObject({ deletes: [{ record }], wakes: [] });
  expect(waiter.said().filter((line) => line.startsWith(begins))).toEqual([]);

  const done = await operator.execute(lock, plan.refusedBy);
  const next = await waiter.says(begins);
  expect(done.result.outcome).toBe('released');
  return { plan, done, next };
}
