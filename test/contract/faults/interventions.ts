/** The contract of faults that act on the server: proven by it, and done to the worker's hold alone. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createIntervention,
  type InterventionKind,
} from '../../../src/chaos/faults/intervention.ts';
import type { Intervention, LockProtocol } from '../../../src/protocols/protocol.ts';
import type { LabHandle } from '../../helpers/servers.ts';
import { openFaultStage, unproven, type FaultStage } from './fault-stage.ts';

const lies: Intervention = () =>
  Promise.resolve({ fact: 'done, it says', proves: 'nothing', holds: true });

/** @param other another way in which that hold could end, which must not pass for this one */
export function describeIntervention(
  lab: LabHandle,
  protocol: LockProtocol,
  kind: InterventionKind,
  other?: InterventionKind,
): void {
  describe(`${kind.name} on ${protocol.id}`, () => {
    let stage: FaultStage;
    beforeEach(async () => {
      stage = await openFaultStage(protocol, lab.target, {});
    });
    afterEach(() => stage.close());
    const acquire = async (): Promise<void> => {
      const sent = stage.actor.send('acquire', { action: 'acquire', waitMs: 0 }, undefined);
      expect(await sent.result).toMatchObject({ outcome: 'ok' });
    };
    const state = () => stage.context.observer.state(stage.context.lock);

    test('ends the hold at once, which the server proves, and there is nothing to undo', async () => {
      await acquire();
      const active = await createIntervention(kind).begin(stage.context);
      expect(unproven(active.evidence)).toEqual([]);
      expect(active.evidence).toHaveLength(2);
      expect(await state()).toEqual({ kind: 'absent' });
      expect([...(await active.end()), ...(await active.end())]).toEqual([]);
      const log = stage.log(createIntervention(kind));
      await expect(log.end('A-fault')).rejects.toThrow('has ended already');
    });

    test('does nothing where the worker holds nothing, or the journal cannot be written', async () => {
      const fault = createIntervention(kind);
      await expect(fault.begin(stage.context)).rejects.toThrow('does not hold the lock');
      await acquire();
      const willDo = () => Promise.reject(new Error('the disk is full'));
      await expect(fault.begin({ ...stage.context, willDo })).rejects.toThrow('the disk is full');
      expect(await state()).toMatchObject({ kind: 'held', owner: stage.actor.owner });
    });

    test('is not proven when it does nothing and says that it did', async () => {
      await acquire();
      const { evidence } = await createIntervention(kind, lies).begin(stage.context);
      expect(unproven(evidence)).toHaveLength(1);
    });

    const wrong = other === undefined ? undefined : protocol.interventions?.[other.name];
    if (wrong === undefined) return;
    test(`is not proven when the hold ended by ${other?.name ?? ''} instead`, async () => {
      await acquire();
      const { evidence } = await createIntervention(kind, wrong).begin(stage.context);
      expect(unproven(evidence)).toHaveLength(1);
    });
  });
}
