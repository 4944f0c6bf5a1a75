/**
 * The contract of every lasting fault of a worker, on a real server: proof that it began and that it
 * ended, undone once however often it is asked, nothing done without the journal, an end when its
 * lifetime is over. And of its injector's mutants: each is caught by the evidence.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Fault, FaultContext } from '../../src/chaos/faults/fault.ts';
import { openProbe } from '../../src/chaos/faults/probe.ts';
import type { LockProtocol } from '../../src/protocols/protocol.ts';
import type { LabHandle } from '../helpers/servers.ts';
import { until } from '../helpers/until.ts';
import { openFaultStage, played, unproven, type FaultStage } from './faults/fault-stage.ts';

export interface FaultFacts {
  readonly fault: Fault;
  readonly options?: FaultContext['options'];
  /** The fault with a broken injector, by what is wrong with it. */
  readonly mutants: Readonly<Record<string, Fault>>;
}

/** Long enough for several renewals and probes. */
const lastsMs = 700;

export function describeFault(
  name: string,
  lab: LabHandle,
  protocol: LockProtocol,
  facts: FaultFacts,
): void {
  const { fault, options = {}, mutants } = facts;
  describe(`${name} on ${protocol.id}`, () => {
    let stage: FaultStage;
    beforeEach(async () => {
      stage = await openFaultStage(protocol, lab.target, options);
      const taken = await stage.actor.send('acquire', { action: 'acquire', waitMs: 0 }, undefined)
        .result;
      expect(taken).toMatchObject({ outcome: 'ok' });
    });
    afterEach(() => stage.close());

    const isReached = async (): Promise<boolean> => {
      const probe = await openProbe({ ...stage.context, id: 'after' }, 2000);
      const answered = await probe.ask();
      await probe.close();
      return answered;
    };
    const beats = async (): Promise<void> => {
      const seq = () => stage.actor.handle.lastHeartbeat?.message.seq ?? 0;
      const before = seq();
      await until('its heart beats', () => seq() > before + 1);
    };

    test('is proven from outside, and over once it is undone, also when undone twice', async () => {
      const journaled: string[] = [];
      const willDo = (what: string) => Promise.resolve(void journaled.push(what));
      const active = await fault.begin({ ...stage.context, willDo });
      expect(journaled).toHaveLength(1);
      expect(unproven(active.evidence)).toEqual([]);
      await sleep(lastsMs);
      const ended = await active.end();
      expect(unproven(ended)).toEqual([]);
      expect(ended.length).toBeGreaterThan(0);
      expect(await active.end()).toBe(ended);
      await beats();
      expect(await isReached()).toBe(true);
    });

    test('does nothing when its undo cannot be written down first', async () => {
      const willDo = () => Promise.reject(new Error('the disk is full'));
      await expect(fault.begin({ ...stage.context, willDo })).rejects.toThrow('the disk is full');
      await beats();
      expect(await isReached()).toBe(true);
    });

    test('ends by itself when its lifetime is over, which is not a proof', async () => {
      const log = stage.log(fault);
      await log.begin(stage.step(fault), stage.actor, 300);
      await until('it has ended', () => log.reports()[0]?.endedAtMs !== undefined);
      const [report] = log.reports();
      expect(report?.proven).toBe(false);
      expect(report?.evidence.filter(({ holds }) => !holds)).toMatchObject([{ source: 'runner' }]);
      expect(log.failures).toEqual([]);
      expect(stage.journal.close()).toBe(true);
      await beats();
      expect(await isReached()).toBe(true);
    });

    for (const [wrong, mutant] of Object.entries(mutants)) {
      test(`is not proven when its injector ${wrong}`, async () => {
        const evidence = await played(mutant, stage.context, () => sleep(lastsMs));
        expect(unproven(evidence)).not.toEqual([]);
      });
    }
  });
}
