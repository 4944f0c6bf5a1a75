/** The mutation part of the protocol contract: every broken variant really is broken. */
import { expect, test } from 'vitest';
import { parseTarget } from '../../src/domain/target.ts';
import { mutationRoles, type MutationRole } from '../../src/protocols/protocol.ts';
import { openProtocol } from '../../src/protocols/registry.ts';
import { until } from '../helpers/until.ts';
import { longLeaseMs, take, ttlOf, type ProtocolFacts, type Stage } from './protocol-stage.ts';

/** For each role: the broken variant does the damage it is named for. */
const damages: Readonly<
  Record<MutationRole, (stage: Stage, facts: ProtocolFacts) => Promise<void>>
> = {
  'release-without-owner-check': async (stage, facts) => {
    const [a, b] = [await stage.contender('release-without-owner-check'), await stage.contender()];
    const lock = stage.lock();
    const old = await take(a, lock, stage.owner('a'), facts.leaseMs);
    await stage.silentUntilGone(a, old.owner);
    const grant = await take(b, lock, stage.owner('b'));
    await stage.observer().state(lock);
    await a.client.release(lock, old);
    expect(await stage.observer().state(lock)).toEqual({ kind: 'absent' });
    const end = await stage.observer().end(lock, grant.owner);
    expect(end).toMatchObject({ cause: 'removed-early' });
  },
  'renew-without-owner-check': async (stage, facts) => {
    const [a, b] = [await stage.contender('renew-without-owner-check'), await stage.contender()];
    const lock = stage.lock();
    const old = await take(a, lock, stage.owner('a'), facts.leaseMs);
    await stage.silentUntilGone(a, old.owner);
    await take(b, lock, stage.owner('b'));
    await a.client.renew(lock, old, 10 * longLeaseMs);
    expect(ttlOf(await stage.observer().state(lock))).toBeGreaterThan(2 * longLeaseMs);
  },
  'renew-drops-ttl': async (stage, facts) => {
    const a = await stage.contender('renew-drops-ttl');
    const lock = stage.lock();
    const grant = await take(a, lock, stage.owner('a'), facts.leaseMs);
    expect(await a.client.renew(lock, grant, facts.leaseMs)).toMatchObject({ outcome: 'ok' });
    expect(await stage.observer().state(lock)).toMatchObject({ kind: 'held', ttlMs: undefined });
  },
  'fence-does-not-grow': async (stage) => {
    const a = await stage.contender('fence-does-not-grow');
    const lock = stage.lock();
    const first = await take(a, lock, stage.owner('a'));
    await a.client.release(lock, first);
    const second = await take(a, lock, stage.owner('b'));
    expect(second.fence).toBe(first.fence);
  },
  'fence-outside-the-atomic-step': async (stage) => {
    const role = 'fence-outside-the-atomic-step';
    const [holder, slow, quick] = [
      await stage.contender(role),
      await stage.contender(role, 10_000),
      await stage.contender(role),
    ];
    const lock = stage.lock();
    const first = await take(holder, lock, stage.owner('h'));
    const late = take(slow, lock, stage.owner('slow'), longLeaseMs, 20_000);
    const sent = () => slow.proxy.framesToServer();
    const atStart = sent();
    await until('the slow one has its number and polls', () => sent() > atStart + 1);
    // Its next try travels for a while: time enough for a release and another's grant.
    slow.proxy.delay('to-server', 2000);
    const delayedFrom = sent();
    await until('a try of the slow one is under way', () => sent() > delayedFrom);
    await holder.client.release(lock, first);
    const between = await take(quick, lock, stage.owner('quick'));
    await quick.client.release(lock, between);
    slow.proxy.delay('to-server', 0);
    expect((await late).fence ?? 0n).toBeLessThan(between.fence ?? 0n);
  },
  'check-then-delete': async (stage, facts) => {
    const timeoutMs = 3 * facts.endsWithinMs + 5000;
    const [a, b] = [await stage.contender('check-then-delete', timeoutMs), await stage.contender()];
    const lock = stage.lock();
    const old = await take(a, lock, stage.owner('a'), facts.leaseMs);
    // The answer to the check travels until the lease is over and another has the lock.
    a.proxy.delay('to-worker', facts.endsWithinMs + 1000);
    const release = a.client.release(lock, old);
    const grant = await take(b, lock, stage.owner('b'), longLeaseMs, facts.endsWithinMs + 900);
    await stage.observer().state(lock);
    a.proxy.delay('to-worker', 0);
    expect(await release).toMatchObject({ outcome: 'ok' });
    const end = await stage.observer().end(lock, grant.owner);
    expect(end).toMatchObject({ cause: 'removed-early' });
  },
};

/** Registers one test a role; call inside the describe of a protocol. */
export function describeMutations(facts: ProtocolFacts, stage: Stage): void {
  test.each(mutationRoles)(
    'variant %s does its damage, or is prevented for a reason',
    async (role) => {
      const protocol = await openProtocol(facts.id, parseTarget(facts.lab.target).kind);
      const declared = protocol.mutations[role];
      if (declared === 'variant') return damages[role](stage, facts);
      expect(declared.prevented).toMatch(/\w+ \w+/);
      return undefined;
    },
  );
}
