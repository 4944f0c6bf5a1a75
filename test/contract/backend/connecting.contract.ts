/** What is told of the server, and of one that cannot be reached. */
import { getEventListeners, setMaxListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import type { Backend } from '../../../src/backends/backend.ts';
import { FencepostError } from '../../../src/domain/errors.ts';
import { valueOf } from '../../../src/domain/known.ts';
import { deadPort, silentServer } from '../../helpers/tcp.ts';
import { until } from '../../helpers/until.ts';
import { collect, everyLock, forever, type World } from './subject.ts';

/** Registers this part. */
export function describeConnecting(world: World): void {
  describe('the target', () => {
    test('a probe tells version, role and that this side takes writes', async () => {
      const probe = await world.backend.probe(forever);
      expect(valueOf(probe.version)).toMatch(/\d+\.\d+/);
      expect(probe.writable).toEqual({ can: true });
      expect(valueOf(probe.healthy)).toEqual({ can: true });
      expect(Math.abs(valueOf(probe.clockOffsetMs) ?? 0)).toBeLessThan(5_000);
    });

    test('a port where nobody listens is told within two seconds', async () => {
      await unreachable(await world.subject.openAt(await deadPort()));
    });

    test('a server that accepts and never answers is told within three seconds', async () => {
      const silent = await silentServer();
      try {
        await unreachable(await world.subject.openAt(silent.port), 3_000);
      } finally {
        await silent.stop();
      }
    });

    test('requests that have ended listen to the signal no more', async () => {
      const { signal } = new AbortController();
      // As the command line does: many requests are under way at once.
      setMaxListeners(0, signal);
      const { ref } = await world.seeder.take(world.fresh(), 'w1', 60_000);
      await world.backend.probe(signal);
      await collect(world.backend.list(everyLock, signal).locks);
      const lock = await world.look(ref);
      await world.backend.inspect(ref, signal);
      await collect(world.backend.history(ref, signal).records);
      await world.backend.sample(lock, 100, signal);
      await until('nobody listens', () => getEventListeners(signal, 'abort').length === 0);
    });

    test('closing twice is harmless, and a closed adapter answers no more', async () => {
      const closing = await world.subject.open();
      await closing.probe(forever);
      await closing.close();
      await closing.close();
      await expect(closing.probe(forever)).rejects.toBeInstanceOf(FencepostError);
    });
  });
}

/** Every request fails in time, with a sentence and a hint. */
async function unreachable(backend: Backend, withinMs = 2_000): Promise<void> {
  const started = performance.now();
  try {
    await expect(collect(backend.list(everyLock, forever).locks)).rejects.toMatchObject({
      code: 'target-unreachable',
      exitCode: 4,
    });
    expect(performance.now() - started).toBeLessThan(withinMs);
  } finally {
    await backend.close();
  }
}
