/** How locks are listed and inspected. */
import { describe, expect, test } from 'vitest';
import { valueOf } from '../../../src/domain/known.ts';
import type { LockSnapshot } from '../../../src/domain/lock.ts';
import { bytesToText, parseText, type Text } from '../../../src/domain/text.ts';
import {
  collect,
  everyLock,
  expectFree,
  forever,
  type BackendFacts,
  type World,
} from './subject.ts';

/** Registers this part. */
export function describeReading(world: World): void {
  describe('listing', () => {
    test('a held lock is listed with its holder, its lease and a token to release it by', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-4711', 60_000);
      const row = (await world.listed()).find((one) => one.ref.name === grant.ref.name);
      expect(row?.state).toBe('held');
      expect(row === undefined ? [] : holderNames(row, world.facts)).toEqual([grant.owner]);
      expect(row?.lease.kind).toBe(world.facts.lease);
      expect(row?.identity?.expect).toMatch(/^[a-z]\d?\./);
      expect(row?.fence.kind).toBe(world.facts.fence === 'every-grant' ? 'token' : 'none');
    });

    test('a pattern restricts the listing', async () => {
      const wanted = await world.seeder.take(world.fresh('picked-lock'), 'owner-1', 60_000);
      await world.seeder.take(world.fresh('left-lock'), 'owner-2', 60_000);
      const rows = await world.listed({ pattern: world.subject.pattern('picked') });
      expect(rows.map((row) => row.ref.name)).toEqual([wanted.ref.name]);
    });

    test('a record that is no lock is counted, and shown only when everything is asked for', async () => {
      const other = world.fresh('plain-thing');
      await world.seeder.other(other);
      const listing = world.backend.list(
        { ...everyLock, pattern: world.subject.pattern('plain-thing') },
        forever,
      );
      expect(await collect(listing.locks)).toEqual([]);
      expect(listing.tally.others).toBeGreaterThan(0);
      const all = await world.listed({ pattern: world.subject.pattern('plain-thing'), all: true });
      expect(all.map((row) => [row.ref.name, row.state])).toEqual([[other, 'unknown']]);
    });

    test('a reader that stops after the first row leaves the adapter usable', async () => {
      await world.seeder.take(world.fresh(), 'owner-1', 60_000);
      await world.seeder.take(world.fresh(), 'owner-2', 60_000);
      for await (const row of world.backend.list(everyLock, forever).locks) {
        expect(row.ref.name).not.toBe('');
        break;
      }
      expect((await world.listed()).length).toBeGreaterThan(1);
    });

    test('an interruption ends a listing at once, with no row after it', async () => {
      const abort = new AbortController();
      abort.abort('SIGINT');
      await expect(
        collect(world.backend.list(everyLock, abort.signal).locks),
      ).rejects.toMatchObject({
        code: 'interrupted',
      });
    });
  });

  describe('inspecting', () => {
    test('a lock that is not there is gone, not a lock without expiry', async () => {
      expect(await world.backend.inspect({ name: world.fresh() }, forever)).toBeUndefined();
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 60_000);
      await world.seeder.end(grant);
      await expectFree(world, grant.ref);
    });

    test('a renewal keeps the token of a grant, and another grant has another', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 60_000);
      const first = (await world.look(grant.ref)).identity?.expect;
      await world.seeder.renew(grant);
      expect((await world.look(grant.ref)).identity?.expect).toBe(first);
      const [row] = await world.listed({ pattern: grant.ref.name });
      expect(row?.identity?.expect).toBe(first);
      const next = await world.seeder.steal(grant, 'owner-2', 60_000);
      expect((await world.look(next.ref)).identity?.expect).not.toBe(first);
    });

    test('evidence and server come with the answer', async () => {
      const grant = await world.seeder.take(world.fresh(), 'owner-1', 60_000);
      const detail = await world.look(grant.ref);
      expect(detail.evidence.length).toBeGreaterThan(0);
      expect(detail.server.endpoint).toMatch(/:\d+$/);
      expect(detail.recognition.confidence).not.toBe('low');
    });

    test('hostile bytes in names and owners arrive escaped and name the same lock again', async () => {
      const hostile =
        world.facts.names === 'any-bytes'
          ? [...Buffer.from('lock\n\u001b[31m'), 0xff, 0xfe, 0x5c]
          : [...new TextEncoder().encode('lock\u00e9 \u4e2d')];
      const bytes = Uint8Array.from(hostile);
      const name = parseText(`${world.fresh()}${bytesToText(bytes)}`);
      const grant = await world.seeder.take(name, 'evil\n\u001b]0;x\u0007', 60_000);
      const rows = await world.listed();
      const row = rows.find((one) => one.ref.name === grant.ref.name);
      expect(row, 'listed under its name').toBeDefined();
      const detail = await world.look({ name: parseText(grant.ref.name) });
      const text = JSON.stringify(detail, (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      );
      // eslint-disable-next-line no-control-regex -- control bytes are what must not be there
      expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
      expect(holderNames(detail, world.facts)).toEqual([grant.owner]);
      await world.seeder.end(grant);
    });
  });
}

function holderNames(snapshot: LockSnapshot, facts: BackendFacts): (Text | undefined)[] {
  return (valueOf(snapshot.holders) ?? []).map((holder) =>
    facts.holderIs === 'owner-value' ? holder.owner : holder.record,
  );
}
