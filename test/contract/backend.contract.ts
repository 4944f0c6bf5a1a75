/**
 * The suite that every inspection adapter passes against a real server. An adapter plugs in with
 * one call of `describeBackend`: how to open it, a raw client that takes, renews and steals locks
 * without it, and the facts in which backends differ. A difference is never a skipped test: each
 * value of a fact has its own assertion.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import type { Backend } from '../../src/backends/backend.ts';
import { describeConnecting } from './backend/connecting.contract.ts';
import { describeReading } from './backend/reading.contract.ts';
import { describeReleasing } from './backend/releasing.contract.ts';
import {
  collect,
  everyLock,
  forever,
  type BackendUnderTest,
  type Seeder,
  type World,
} from './backend/subject.ts';
import { describeWatching } from './backend/watching.contract.ts';

/** Registers the suite. */
export function describeBackend(name: string, subject: BackendUnderTest): void {
  let opened: { readonly backend: Backend; readonly seeder: Seeder } | undefined;
  let count = 0;
  const running = (): { readonly backend: Backend; readonly seeder: Seeder } => {
    if (opened === undefined) throw new Error('the adapter is open only inside tests and hooks');
    return opened;
  };
  const world: World = {
    subject,
    facts: subject.facts,
    get backend() {
      return running().backend;
    },
    get seeder() {
      return running().seeder;
    },
    fresh(word = 'lock') {
      count += 1;
      return running().seeder.name(`${word}-${count}`);
    },
    async look(ref) {
      const seen = await running().backend.inspect(ref, forever);
      if (seen === undefined) throw new Error(`${ref.name} is not there`);
      return seen;
    },
    listed: (restriction = {}) =>
      collect(running().backend.list({ ...everyLock, ...restriction }, forever).locks),
  };

  describe(`${name} as a backend`, () => {
    beforeAll(async () => {
      opened = { seeder: await subject.seed(), backend: await subject.open() };
    });
    afterAll(async () => {
      await opened?.backend.close();
      await opened?.seeder.close();
    });
    describeReading(world);
    describeWatching(world);
    describeReleasing(world);
    describeConnecting(world);
  });
}
