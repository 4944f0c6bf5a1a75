/** The contract of losing one exchange: exactly one, proven by proxy, server and worker. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Fault, FaultContext } from '../../../src/chaos/faults/fault.ts';
import { createLoseReply } from '../../../src/chaos/faults/lose-reply.ts';
import { createLoseRequest } from '../../../src/chaos/faults/lose-request.ts';
import type { Swallower } from '../../../src/chaos/faults/swallow.ts';
import type { LockProtocol } from '../../../src/protocols/protocol.ts';
import type { LabHandle } from '../../helpers/servers.ts';
import { openFaultStage, unproven, type FaultStage } from './fault-stage.ts';

type Operation = 'acquire' | 'release';
const create = { request: createLoseRequest, reply: createLoseReply };

const mutants: Readonly<Record<string, Partial<Swallower>>> = {
  'does nothing': {
    arm: () => ({ hit: Promise.resolve(undefined), disarm: () => undefined }),
  },
  'loses the other half of the exchange': {
    arm: (proxy, rule) => proxy.arm({ ...rule, what: rule.what === 'reply' ? 'request' : 'reply' }),
  },
  'loses one of another operation': {
    arm: (proxy, rule) => proxy.arm({ ...rule, action: 'release' }),
  },
  'never stops': {
    arm(proxy, rule) {
      const first = proxy.arm(rule);
      // One after the other, for ever.
      const again = (): void => {
        void proxy.arm(rule).hit.then((hit) => {
          if (hit !== undefined) again();
        });
      };
      void first.hit.then(again);
      return first;
    },
    disarm: () => undefined,
  },
};

export function describeSwallows(
  lab: LabHandle,
  protocol: LockProtocol,
  withMutants: boolean,
): void {
  describe.each(['request', 'reply'] as const)(`a lost %s on ${protocol.id}`, (what) => {
    let stage: FaultStage;
    beforeEach(async () => {
      stage = await openFaultStage(protocol, lab.target, {});
    });
    afterEach(() => stage.close());

    const begin = (fault: Fault, of: Operation, willDo = stage.context.willDo) =>
      fault.begin(
        Object.create(stage.context, {
          options: { value: { of } },
          willDo: { value: willDo },
        }) as FaultContext,
      );
    let sent = 0;
    const operate = (action: Operation) => {
      sent += 1;
      const order = action === 'acquire' ? ({ action, waitMs: 0 } as const) : { action };
      return stage.actor.send(`${action}-${sent}`, order, undefined).result;
    };

    test.each(['acquire', 'release'] as const)(
      'is exactly one %s, which only the server knows the end of',
      async (of) => {
        if (of === 'release') expect(await operate('acquire')).toMatchObject({ outcome: 'ok' });
        const active = await begin(create[what](), of);
        expect(await operate(of)).toMatchObject({ outcome: 'unknown' });
        const ended = await active.end();
        expect(unproven(ended)).toEqual([]);
        expect(ended.map(({ source }) => source)).toEqual([
          'proxies of A',
          'observer connection',
          'worker A',
          'probe by the proxies of A',
        ]);
        expect(await active.end()).toBe(ended);
      },
    );

    test('does nothing when its undo cannot be written down first, or when nothing came by', async () => {
      const full = () => Promise.reject(new Error('the disk is full'));
      await expect(begin(create[what](), 'acquire', full)).rejects.toThrow('the disk is full');
      const active = await begin(create[what](), 'acquire');
      expect(unproven(await active.end())).toEqual(['proxies of A: no such acquire of A came by']);
      expect(await operate('acquire')).toMatchObject({ outcome: 'ok' });
    });

    if (!withMutants) return;
    for (const [wrong, mutant] of Object.entries(mutants)) {
      test(`is not proven when its injector ${wrong}`, async () => {
        const active = await begin(create[what](mutant), 'acquire');
        await operate('acquire');
        expect(unproven(await active.end())).not.toEqual([]);
      });
    }
  });
}
