/** How exactly one grant is released, and nothing else ever. */
import { describe, expect, test } from 'vitest';
import { valueOf } from '../../../src/domain/known.ts';
import { parseText } from '../../../src/domain/text.ts';
import { changeWords } from '../../../src/release/plan.ts';
import { expectFree, forever, type World } from './subject.ts';

/** Registers this part. */
export function describeReleasing(world: World): void {
  describe('releasing', () => {
    const how = { timeoutMs: 5_000 };

    test('a preview names the record and the condition, and touches nothing', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 60_000);
      const preview = world.backend.preview(await world.look(grant.ref), {});
      expect(preview.possible).toEqual({ can: true });
      expect(preview.deletes.length).toBeGreaterThan(0);
      expect(preview.deletes[0]?.condition).not.toBe('');
      expect(await world.seeder.isThere(grant)).toBe(true);
    });

    test('the grant that was seen is released', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 60_000);
      const result = await world.backend.release(await world.look(grant.ref), how, forever);
      expect(result.outcome).toBe('released');
      expect(await world.seeder.isThere(grant)).toBe(false);
      await expectFree(world, grant.ref);
    });

    test('a renewed grant is still the grant that was seen', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 60_000);
      const seen = await world.look(grant.ref);
      await world.seeder.renew(grant);
      expect((await world.backend.release(seen, how, forever)).outcome).toBe('released');
    });

    test('a lock that changed hands is not touched', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 60_000);
      const seen = await world.look(grant.ref);
      const next = await world.seeder.steal(grant, 'owner-2', 60_000);
      const result = await world.backend.release(seen, how, forever);
      // Where each grant has a record of its own, the one seen is simply gone.
      expect(['changed-hands', 'already-gone']).toContain(result.outcome);
      if (result.outcome === 'changed-hands') expect(result.now).not.toBe('');
      expect(await world.seeder.isThere(next)).toBe(true);
    });

    test('a change of hands is told by the old and the new owner, each with its fence', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 60_000);
      const before = await world.look(grant.ref);
      const next = await world.seeder.steal(grant, 'owner-2', 60_000);
      const words = changeWords(before, await world.look(next.ref));
      const fence = world.facts.fence === 'none' ? '' : ' fence \\d+';
      const of = (owner: string): string => `${owner}${fence} \\([a-z]1\\.\\S+\\)`;
      expect(words).toMatch(new RegExp(`^${of(grant.owner)} → ${of(next.owner)}$`));
    });

    test('a lock that its owner released is already gone', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 60_000);
      const seen = await world.look(grant.ref);
      await world.seeder.end(grant);
      expect((await world.backend.release(seen, how, forever)).outcome).toBe('already-gone');
    });

    test('releasing twice by one snapshot deletes once', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 60_000);
      const seen = await world.look(grant.ref);
      expect((await world.backend.release(seen, how, forever)).outcome).toBe('released');
      expect((await world.backend.release(seen, how, forever)).outcome).toBe('already-gone');
    });

    test('a hold puts the operator in the place of the owner, or is refused before it is tried', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 60_000);
      const seen = await world.look(grant.ref);
      const hold = { owner: parseText('operator-77'), ttlMs: 30_000 };
      const preview = world.backend.preview(seen, { hold });
      if (world.facts.hold === 'refused') {
        expect(preview.possible.can).toBe(false);
        const result = await world.backend.release(seen, { ...how, hold }, forever);
        expect(result.outcome).toBe('refused');
        expect(await world.seeder.isThere(grant)).toBe(true);
        return;
      }
      expect(preview.possible.can).toBe(true);
      const result = await world.backend.release(seen, { ...how, hold }, forever);
      expect(result.outcome).toBe('released');
      expect(await world.seeder.isThere(grant)).toBe(false);
      const held = await world.look(grant.ref);
      expect(held.state).toBe('held');
      expect(JSON.stringify(valueOf(held.holders))).toContain('operator-77');
    });

    test('an interruption before anything was sent leaves the lock alone', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 60_000);
      const seen = await world.look(grant.ref);
      const abort = new AbortController();
      abort.abort('SIGINT');
      await expect(world.backend.release(seen, how, abort.signal)).rejects.toMatchObject({
        code: 'interrupted',
      });
      expect(await world.seeder.isThere(grant)).toBe(true);
    });

    test('an account that may only read is refused, and the lock stays', async () => {
      if (world.facts.readOnlyAccount === 'none-exists') {
        expect('openReadOnly' in world.subject).toBe(false);
        return;
      }
      const reader = await world.subject.openReadOnly?.();
      if (reader === undefined) throw new Error('the subject lacks what its facts promise');
      try {
        const grant = await world.seeder.take(world.fresh(), 'owner-1', 60_000);
        const seen = await reader.inspect(grant.ref, forever);
        if (seen === undefined) throw new Error('the reader does not see the lock');
        const result = await reader.release(seen, how, forever);
        expect(result.outcome).toBe('refused');
        expect(result.outcome === 'refused' && result.reason).not.toBe('');
        expect(await world.seeder.isThere(grant)).toBe(true);
      } finally {
        await reader.close();
      }
    });
  });
}
