/**
 * What every lock protocol must do on a real server, seen from the outside by its observer, and
 * through a worker's proxy where replies get lost. Differences between protocols are declared in
 * `ProtocolFacts`, never skipped in silence.
 */
import { randomBytes } from 'node:crypto';
import { beforeEach, afterEach, describe, expect, test } from 'vitest';
import { openServiceProxies } from '../../src/chaos/open-proxy.ts';
import type { OwnerToken } from '../../src/domain/holder.ts';
import { parseTarget } from '../../src/domain/target.ts';
import { stringToText } from '../../src/domain/text.ts';
import type {
  Grant,
  LockObserver,
  LockProtocol,
  MutationRole,
} from '../../src/protocols/protocol.ts';
import { openProtocol } from '../../src/protocols/registry.ts';
import { until } from '../helpers/until.ts';
import { groupOf } from './proxy-group.ts';
import { describeMutations } from './protocol-mutations.contract.ts';
import {
  ascending,
  longLeaseMs,
  requestTimeoutMs,
  take,
  ttlOf,
  type Contender,
  type ProtocolFacts,
} from './protocol-stage.ts';

/** Runs the contract of one protocol. Call inside a file that uses a lab. */
export function describeProtocol(facts: ProtocolFacts): void {
  describe(`protocol ${facts.id}`, () => {
    let protocol: LockProtocol;
    let observer: LockObserver;
    let prefix = '';
    let lock = '';
    const opened: (() => Promise<void>)[] = [];

    const contender = async (mutation?: MutationRole, timeoutMs = requestTimeoutMs) => {
      const target = parseTarget(facts.lab.target);
      const { proxies, url } = await openServiceProxies('A', target, protocol.wire, 0n);
      const client = await protocol.connect({
        target: parseTarget(url),
        requestTimeoutMs: timeoutMs,
        clientName: 'fencepost-test',
        mutation,
      });
      opened.push(async () => {
        await client.close();
        await Promise.all(proxies.map((proxy) => proxy.close()));
      });
      return { client, proxy: groupOf(proxies) } satisfies Contender;
    };
    const owner = (name: string) => stringToText(`${name}-${randomBytes(4).toString('hex')}`);
    const heldBy = (token: OwnerToken): object => ({ kind: 'held', owner: token });
    const silentUntilGone = async ({ proxy }: Contender, who: OwnerToken) => {
      proxy.cut('both');
      await until(
        'the silent holder is gone',
        async () => {
          const state = await observer.state(lock);
          return state.kind === 'absent' || state.owner !== who;
        },
        facts.endsWithinMs + 5000,
      );
      proxy.heal();
    };

    beforeEach(async () => {
      protocol = await openProtocol(facts.id, parseTarget(facts.lab.target).kind);
      prefix = `fp-test-${randomBytes(6).toString('hex')}`;
      lock = `${prefix}/expire-order`;
      observer = await protocol.observe({
        target: parseTarget(facts.lab.target),
        requestTimeoutMs: 2000,
        clientName: 'fencepost-observer',
      });
    });
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((close) => close()));
      await observer.cleanUp(prefix);
      await observer.close();
    });

    test('a free lock is granted, and the service shows that very grant', async () => {
      const a = await contender();
      expect(await observer.state(lock)).toEqual({ kind: 'absent' });
      const beforeNs = process.hrtime.bigint();
      const grant = await take(a, lock, owner('a'));
      expect(await observer.state(lock)).toMatchObject({
        ...heldBy(grant.owner),
        fence: grant.fence,
        record: grant.record,
      });
      expect(grant.fence === undefined).toBe(!protocol.fenced);
      expect(grant.grantedTtlMs).toBeGreaterThan(0);
      const leftNs = grant.validUntilNs - beforeNs;
      expect(leftNs).toBeGreaterThan(0n);
      expect(leftNs).toBeLessThan(BigInt(grant.grantedTtlMs + requestTimeoutMs) * 1_000_000n);
    });

    test('an owner token of any bytes comes back as it was given', async () => {
      const a = await contender();
      const token = stringToText('line\nbreak \\ and é');
      await take(a, lock, token);
      expect(await observer.state(lock)).toMatchObject(heldBy(token));
    });

    test('a held lock is refused with a definite code', async () => {
      const [a, b] = [await contender(), await contender()];
      await take(a, lock, owner('a'));
      const request = { lock, owner: owner('b'), leaseMs: longLeaseMs, waitMs: 0 };
      expect(await b.client.acquire(request)).toMatchObject({ outcome: 'fail', code: 'busy' });
      expect(protocol.definiteCodes).toContain('busy');
    });

    test('who waits gets the lock after its release, with a larger fence', async () => {
      const [a, b] = [await contender(), await contender()];
      const first = await take(a, lock, owner('a'));
      const waiting = take(b, lock, owner('b'), longLeaseMs, 10_000);
      expect(await a.client.release(lock, first)).toMatchObject({ outcome: 'ok' });
      const second = await waiting;
      expect(await observer.state(lock)).toMatchObject(heldBy(second.owner));
      if (protocol.fenced) expect(second.fence ?? 0n).toBeGreaterThan(first.fence ?? 0n);
    });

    test('who waits in vain is told busy after its time, and holds nothing later', async () => {
      const [a, b] = [await contender(), await contender()];
      const grant = await take(a, lock, owner('a'));
      const request = { lock, owner: owner('b'), leaseMs: longLeaseMs, waitMs: 300 };
      expect(await b.client.acquire(request)).toMatchObject({ outcome: 'fail', code: 'busy' });
      await a.client.release(lock, grant);
      expect(await observer.state(lock)).toEqual({ kind: 'absent' });
    });

    test(`a repeated acquire with the same owner token gives: ${facts.repeatedAcquire}`, async () => {
      const a = await contender();
      const first = await take(a, lock, owner('a'));
      const request = { lock, owner: first.owner, leaseMs: longLeaseMs, waitMs: 0 };
      const again = await a.client.acquire(request);
      if (facts.repeatedAcquire === 'busy') {
        expect(again).toMatchObject({ outcome: 'fail', code: 'busy' });
      } else {
        expect(again).toMatchObject({ outcome: 'ok', grant: { fence: first.fence } });
        expect(await observer.grants(lock)).toHaveLength(1);
      }
    });

    test('confirm is ok for the holder and not-owner for everybody else', async () => {
      const [a, b] = [await contender(), await contender()];
      const grant = await take(a, lock, owner('a'));
      const request = { lock, owner: grant.owner, leaseMs: longLeaseMs, waitMs: 0 };
      const { fence, record } = grant;
      expect(await a.client.confirm(request)).toMatchObject({
        outcome: 'ok',
        grant: { fence, record },
      });
      expect(await b.client.confirm({ ...request, owner: owner('b') })).toMatchObject({
        outcome: 'fail',
        code: 'not-owner',
      });
    });

    test('a release frees the lock, is seen as such, and works once', async () => {
      const a = await contender();
      const grant = await take(a, lock, owner('a'));
      await observer.state(lock);
      expect(await a.client.release(lock, grant)).toMatchObject({ outcome: 'ok' });
      expect(await observer.state(lock)).toEqual({ kind: 'absent' });
      expect(await observer.end(lock, grant.owner)).toMatchObject({ cause: facts.releaseIsSeenAs });
      const again = await a.client.release(lock, grant);
      expect(again).toMatchObject({ outcome: 'fail', code: 'not-owner' });
    });

    test('a holder that falls silent loses the lock, and the observer says why', async () => {
      const a = await contender();
      const grant = await take(a, lock, owner('a'), facts.leaseMs);
      await observer.state(lock);
      await silentUntilGone(a, grant.owner);
      const end = await observer.end(lock, grant.owner);
      expect(end).toMatchObject({ cause: facts.silenceIsSeenAs });
    });

    test('a renewal keeps a lease from running out', async () => {
      const a = await contender();
      const grant = await take(a, lock, owner('a'), facts.leaseMs);
      const until2Leases = performance.now() + 2 * grant.grantedTtlMs;
      await until(
        'two leases have passed',
        async () => {
          const reply = await a.client.renew(lock, grant, facts.leaseMs);
          expect(reply).toMatchObject({ outcome: 'ok' });
          return performance.now() > until2Leases;
        },
        2 * grant.grantedTtlMs + 5000,
      );
      expect(await observer.state(lock)).toMatchObject(heldBy(grant.owner));
    });

    test('an expired owner can neither re-create, renew, confirm nor release', async () => {
      const a = await contender();
      const grant = await take(a, lock, owner('a'), facts.leaseMs);
      await silentUntilGone(a, grant.owner);
      const request = { lock, owner: grant.owner, leaseMs: longLeaseMs, waitMs: 0 };
      const replies = [
        await a.client.renew(lock, grant, longLeaseMs),
        await a.client.confirm(request),
        await a.client.release(lock, grant),
      ];
      for (const reply of replies) expect(reply.outcome).not.toBe('ok');
      expect(await observer.state(lock)).toEqual({ kind: 'absent' });
    });

    test("an expired owner can neither release nor lengthen its successor's lock", async () => {
      const [a, b] = [await contender(), await contender()];
      const old = await take(a, lock, owner('a'), facts.leaseMs);
      await silentUntilGone(a, old.owner);
      const grant = await take(b, lock, owner('b'), longLeaseMs);
      const before = await observer.state(lock);
      const renewal = await a.client.renew(lock, old, 10 * longLeaseMs);
      const release = await a.client.release(lock, old);
      const after = await observer.state(lock);
      for (const reply of [renewal, release]) expect(reply.outcome).not.toBe('ok');
      expect(after).toMatchObject({ ...heldBy(grant.owner), record: grant.record });
      expect(ttlOf(after)).toBeLessThanOrEqual(ttlOf(before));
    });

    test('fences grow along the grants, by release and by expiry, as the service lists them', async () => {
      const [a, b] = [await contender(), await contender()];
      const taken: Grant[] = [];
      for (const name of ['a1', 'a2']) {
        const grant = await take(a, lock, owner(name));
        taken.push(grant);
        await observer.state(lock);
        await a.client.release(lock, grant);
      }
      const silent = await take(a, lock, owner('a3'), facts.leaseMs);
      taken.push(silent);
      await silentUntilGone(a, silent.owner);
      taken.push(await take(b, lock, owner('b')));
      const seen = await observer.grants(lock);
      expect(seen.map((grant) => grant.owner)).toEqual(taken.map((grant) => grant.owner));
      expect(seen.map((grant) => grant.fence)).toEqual(taken.map((grant) => grant.fence));
      const orders = seen.map((grant) => grant.order);
      expect(orders).toEqual([...orders].sort(ascending));
      if (!protocol.fenced) return;
      const fences = taken.map((grant) => grant.fence ?? 0n);
      expect(fences).toEqual([...new Set(fences)].sort(ascending));
    });

    const takesBack = facts.afterNoAnswer === 'clean-up';
    test(`a lost acquire reply is ${takesBack ? 'taken back, and the lock is free' : 'unknown, the server granted it, and confirm gets the grant'}`, async () => {
      const a = await contender();
      const token = owner('a');
      const lost = a.proxy.arm({ what: 'reply', action: 'acquire', nth: 1 });
      const request = { lock, owner: token, leaseMs: longLeaseMs, waitMs: 0 };
      const outcome = takesBack ? 'fail' : 'unknown';
      expect(await a.client.acquire(request)).toMatchObject({ outcome });
      const hit = await lost.hit;
      expect(hit?.requestBytesForwarded).toBeGreaterThan(0);
      expect(hit).toMatchObject({ replyBytesForwarded: 0 });
      expect(new Set(a.proxy.evidence().map(({ holds }) => holds))).toEqual(new Set([true]));
      if (takesBack) {
        expect(await observer.state(lock)).toEqual({ kind: 'absent' });
        return;
      }
      expect(await observer.state(lock)).toMatchObject(heldBy(token));
      expect(await a.client.confirm(request)).toMatchObject({ outcome: 'ok' });
    });

    test('a lost acquire request is unknown to the client, and the server has nothing', async () => {
      const a = await contender();
      const lost = a.proxy.arm({ what: 'request', action: 'acquire', nth: 1 });
      const request = { lock, owner: owner('a'), leaseMs: longLeaseMs, waitMs: 0 };
      expect(await a.client.acquire(request)).toMatchObject({ outcome: 'unknown' });
      expect(await lost.hit).toMatchObject({ requestBytesForwarded: 0 });
      expect(await observer.state(lock)).toEqual({ kind: 'absent' });
    });

    test('a lost release reply is unknown, and the lock is free', async () => {
      const a = await contender();
      const grant = await take(a, lock, owner('a'));
      const lost = a.proxy.arm({ what: 'reply', action: 'release', nth: 1 });
      expect(await a.client.release(lock, grant)).toMatchObject({ outcome: 'unknown' });
      expect(await lost.hit).toBeDefined();
      expect(await observer.state(lock)).toEqual({ kind: 'absent' });
      const again = await a.client.release(lock, grant);
      expect(again).toMatchObject({ outcome: 'fail', code: 'not-owner' });
    });

    test(`an answer that never comes is unknown within its deadline${takesBack ? '' : ', and costs one request'}`, async () => {
      const a = await contender();
      await take(a, lock, owner('a'));
      a.proxy.cut('to-worker');
      const before = a.proxy.framesToServer();
      const start = performance.now();
      const request = { lock, owner: owner('b'), leaseMs: longLeaseMs, waitMs: 0 };
      expect(await a.client.acquire(request)).toMatchObject({ outcome: 'unknown' });
      expect(performance.now() - start).toBeLessThan(10 * requestTimeoutMs);
      if (!takesBack) expect(a.proxy.framesToServer() - before).toBe(1);
    });

    test('the server sees the proxies as its clients', async () => {
      const a = await contender();
      await take(a, lock, owner('a'));
      const seen = await observer.clientAddresses();
      if (seen === undefined) return;
      expect(seen).toEqual(expect.arrayContaining([...a.proxy.upstreamAddresses()]));
      expect(a.proxy.upstreamAddresses()).not.toHaveLength(0);
    });

    test('clean-up removes what lies under its prefix and nothing else', async () => {
      const a = await contender();
      await take(a, lock, owner('a'));
      const kept = await take(a, `fp-keep-${prefix}/lock`, owner('k'));
      await observer.cleanUp(prefix);
      expect(await observer.state(lock)).toEqual({ kind: 'absent' });
      expect(await observer.state(`fp-keep-${prefix}/lock`)).toMatchObject(heldBy(kept.owner));
      await observer.cleanUp(`fp-keep-${prefix}`);
    });

    test('closing twice is the same as closing once', async () => {
      const a = await contender();
      await a.client.close();
      await a.client.close();
    });

    describeMutations(facts, {
      contender,
      owner,
      silentUntilGone,
      observer: () => observer,
      lock: () => lock,
    });
  });
}
