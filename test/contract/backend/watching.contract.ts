/** How a lease is watched, and what the past of a lock is. */
import { describe, expect, test } from 'vitest';
import { valueOf } from '../../../src/domain/known.ts';
import { collect, elapsed, forever, type World } from './subject.ts';

/** Registers this part. */
export function describeWatching(world: World): void {
  describe('watching', () => {
    test('a grant that nobody renews is seen to run down', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 30_000);
      const sample = await world.backend.sample(await world.look(grant.ref), 1_500, forever);
      expect(sample).toMatchObject({ outcome: 'not-renewed', renewals: { value: 0 } });
      expect(valueOf(sample.neededMs)).toBeGreaterThan(10_000);
      await world.seeder.end(grant);
    });

    test('a renewed grant is seen to be renewed', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 30_000);
      const seen = await world.look(grant.ref);
      // The lease must have run down by more than the grain of the server's count.
      await elapsed(1_200);
      const watching = world.backend.sample(seen, 3_000, forever);
      await elapsed(1_200);
      await world.seeder.renew(grant);
      const sample = await watching;
      expect(sample.outcome).toBe('renewed');
      expect(valueOf(sample.renewals)).toBeGreaterThan(0);
      await world.seeder.end(grant);
    });

    test('a grant that another owner replaced is told from a renewal', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 30_000);
      const seen = await world.look(grant.ref);
      const watching = world.backend.sample(seen, 5_000, forever);
      await elapsed(200);
      await world.seeder.steal(grant, 'owner-2', 30_000);
      expect((await watching).outcome).toBe('changed-hands');
    });

    test('a grant that ended is gone', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 30_000);
      const seen = await world.look(grant.ref);
      await world.seeder.end(grant);
      expect((await world.backend.sample(seen, 2_000, forever)).outcome).toBe('gone');
    });

    test('an interruption ends the watching at once', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 30_000);
      const seen = await world.look(grant.ref);
      const abort = new AbortController();
      const started = performance.now();
      const watching = world.backend.sample(seen, 20_000, abort.signal);
      setTimeout(() => {
        abort.abort('SIGINT');
      }, 100);
      await expect(watching).rejects.toMatchObject({ code: 'interrupted' });
      expect(performance.now() - started).toBeLessThan(15_000);
      await world.seeder.end(grant);
    });
  });

  describe('history', () => {
    test('the present holder ends the history, and its completeness is stated', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 60_000);
      const history = world.backend.history(grant.ref, forever);
      const records = await collect(history.records);
      expect(records.at(-1)?.ended).toEqual({ how: 'holding' });
      const complete = history.completeness();
      if (world.facts.history === 'present-holder') {
        expect(records).toHaveLength(1);
        expect(complete.kind).not.toBe('known');
      } else {
        expect(complete.kind).not.toBe('unknown');
      }
    });
  });
}
