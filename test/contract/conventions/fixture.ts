/** The fixtures of real libraries: their form, and what they expect of a lock as an adapter shows it. */
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { z } from 'zod';
import { valueOf } from '../../../src/domain/known.ts';
import type { LockSnapshot } from '../../../src/domain/lock.ts';

const expectationSchema = z.object({
  name: z.string(),
  /** Null: the layout writes no owner. */
  owner: z.union([z.string(), z.array(z.string()), z.null()]),
  ttl_ms: z.number().nullable(),
  waiters: z.array(z.string()),
  /** Null: none, or assigned by the server (`fence_source`). */
  fence: z.number().nullable(),
  holds: z.number().nullable(),
  mode: z.enum(['exclusive', 'shared', 'semaphore', 'latch']),
});

/** What fencepost makes of the record: the part of a fixture that is ours. */
const recognitionSchema = z.strictObject({
  convention: z.string(),
  /** The other layouts that it could be. */
  candidates: z.array(z.string()).default([]),
  /** Nothing but the application's word makes it a lock: it is asked for by convention. */
  told: z.boolean().default(false),
  /** False: the layout is never released by force. */
  released: z.boolean().default(true),
  /** Records of the set-up that a release deletes. */
  deletes: z.number().default(1),
  /** What else of the set-up a listing of everything shows. */
  also_listed: z.array(z.string()).default([]),
});

export type Expectation = z.output<typeof expectationSchema>;

export interface Fixture<S> {
  readonly library: string;
  readonly variant: string;
  readonly setup: readonly S[];
  readonly expect: Expectation;
  readonly recognised: z.output<typeof recognitionSchema>;
  /** What the server assigns the fence from; undefined where the fixture has none. */
  readonly fence_source?: string | undefined;
}

/** Every fixture of one system, with `library/variant` before it. */
export function readFixtures<S>(
  system: string,
  step: z.ZodType<S>,
): readonly (readonly [string, Fixture<S>])[] {
  const schema = z.object({
    library: z.string(),
    variant: z.string(),
    setup: z.array(step).min(1),
    expect: expectationSchema,
    recognised: recognitionSchema,
    fence_source: z.string().optional(),
  });
  const file = new URL(`../../fixtures/lock-fixtures/${system}.jsonl`, import.meta.url);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines
    .map((line) => schema.parse(JSON.parse(line)))
    .map((one) => [`${one.library}/${one.variant}`, one] as const);
}

/** Name, mode, owners, waiters and lease. A layout without a record of waiters says so. */
export function checkExpectation(lock: LockSnapshot, wanted: Expectation): void {
  expect(lock.ref.name).toBe(wanted.name);
  expect(lock.mode).toBe(wanted.mode);
  expect(lock.state).toBe('held');
  const owners = valueOf(lock.holders)?.map((holder) => holder.owner);
  expect(owners).toEqual(wanted.owner === null ? undefined : [wanted.owner].flat());
  checkWaiters(lock, wanted.waiters);
  if (wanted.ttl_ms === null) return;
  const leftMs = lock.lease.kind === 'ttl' ? lock.lease.ttlMs : NaN;
  expect(leftMs).toBeLessThanOrEqual(wanted.ttl_ms);
  expect(leftMs).toBeGreaterThan(wanted.ttl_ms - 5_000);
}

function checkWaiters({ waiters }: LockSnapshot, wanted: readonly string[]): void {
  switch (waiters.kind) {
    case 'exact':
      expect(waiters.list.map((one) => one.owner)).toEqual(wanted);
      return;
    case 'count':
      expect(waiters.count).toBe(wanted.length);
      return;
    case 'unknown':
      expect(wanted).toEqual([]);
  }
}
