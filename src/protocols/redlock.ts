/**
 * Redlock: the same owner token on a majority of independent Redis servers, for what is left of the
 * lease after the time that the acquire took. The plain one has no fence. The fenced one takes its
 * number from the first server once it has the majority, so it lives and dies with that server.
 * https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/
 */
import { fencedKeys } from '../domain/fenced-layout.ts';
import type { FencingToken } from '../domain/fence.ts';
import { textToBytes } from '../domain/text.ts';
import { notOwner } from './failure.ts';
import { pollWhileBusy } from './poll.ts';
import {
  noFence,
  type AcquireRequest,
  type Grant,
  type LockClient,
  type LockProtocol,
  type MutationRole,
  type ProtocolContext,
  type Reply,
} from './protocol.ts';
import { redisWire, runScript, ttlOf, type ScriptReply } from './redis-client.ts';
import { toFence } from './redis-fenced-history.ts';
import { redisDefiniteCodes } from './redis-link.ts';
import * as record from './redis-string-scripts.ts';
import { openRedlockNodes, type RedlockNodes } from './redlock-nodes.ts';
import { observeRedlock } from './redlock-observer.ts';
import * as scripts from './redlock-scripts.ts';

const common = {
  family: 'redis',
  expiryGranularityMs: 1,
  definiteCodes: [
    'busy',
    'not-owner',
    'no-majority',
    'no-validity',
    'no-fence',
    ...redisDefiniteCodes,
  ],
  wire: redisWire,
} as const;

const ownerMutations = {
  'release-without-owner-check': 'variant',
  'renew-without-owner-check': 'variant',
  'renew-drops-ttl': 'variant',
  'check-then-delete': 'variant',
} as const;

export const redlockPlain: LockProtocol = {
  ...common,
  id: 'redlock-plain',
  title: 'Redlock: an owner token on a majority of independent Redis servers, no fence',
  fenced: false,
  fenceSource: undefined,
  mutations: {
    ...ownerMutations,
    'fence-does-not-grow': noFence,
    'fence-outside-the-atomic-step': noFence,
  },
  async connect(context) {
    return new RedlockClient(await openRedlockNodes(context), context, false);
  },
  observe: (context) => observeRedlock(context, false),
};

export const redlockFenced: LockProtocol = {
  ...common,
  id: 'redlock-fenced',
  title: 'Redlock with a fence counter on the first server, raised under the majority',
  fenced: true,
  fenceSource: 'counter on the first server, raised once a majority has granted',
  mutations: {
    ...ownerMutations,
    'fence-does-not-grow': 'variant',
    'fence-outside-the-atomic-step': 'variant',
  },
  async connect(context) {
    return new RedlockClient(await openRedlockNodes(context), context, true);
  },
  observe: (context) => observeRedlock(context, true),
};

/** What the servers said, counted. */
interface Count {
  readonly ok: number;
  /** The script itself refused: another's, or gone. */
  readonly refused: number;
  readonly unknown: number;
  /** Shortest time left on those that said ok, in ms. */
  readonly ttlMs: number;
  readonly busy: boolean;
}

function countOf(replies: readonly ScriptReply[]): Count {
  const words = replies.flatMap((reply) => (reply.outcome === 'ok' ? [reply] : []));
  const granted = words.filter(({ word }) => word === 'ok');
  return {
    ok: granted.length,
    refused: words.length - granted.length,
    unknown: replies.filter(({ outcome }) => outcome === 'unknown').length,
    ttlMs: Math.min(...granted.map(({ rest }) => ttlOf(rest[0]))),
    busy: words.some(({ word }) => word === 'busy'),
  };
}

/** Clocks of servers run apart, and the shortest expiry is a millisecond: as the algorithm says. */
function driftMs(leaseMs: number): number {
  return leaseMs * 0.01 + 2;
}

class RedlockClient implements LockClient {
  readonly #nodes: RedlockNodes;
  readonly #mutation: MutationRole | undefined;
  readonly #random: () => number;
  readonly #fenced: boolean;
  readonly #listeners: ((lock: string, reason: string) => void)[] = [];

  constructor(nodes: RedlockNodes, context: ProtocolContext, fenced: boolean) {
    this.#nodes = nodes;
    this.#mutation = context.mutation;
    this.#random = context.random ?? Math.random;
    this.#fenced = fenced;
  }

  async acquire(request: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    let given: string | undefined;
    if (this.#mutation === 'fence-outside-the-atomic-step') {
      const { fence } = fencedKeys(request.lock);
      const taken = await runScript(this.#nodes.links[0], scripts.takeFence, [fence], []);
      if (taken.outcome !== 'ok') return taken;
      given = taken.word;
    }
    return pollWhileBusy(() => this.#try(request, given), request.waitMs, this.#random);
  }

  async #try(request: AcquireRequest, given: string | undefined): Promise<Reply<{ grant: Grant }>> {
    const { lock, owner, leaseMs } = request;
    const startNs = process.hrtime.bigint();
    const args = [textToBytes(owner), leaseMs];
    const replies = await this.#nodes.script(scripts.acquire, [lock], args);
    const count = countOf(replies);
    let code = count.busy ? 'busy' : 'no-majority';
    if (count.ok >= this.#nodes.majority) {
      const grant = await this.#grant(request, startNs, count.ttlMs, given);
      if (typeof grant !== 'string') return { outcome: 'ok', grant };
      code = grant;
    }
    return this.#giveUp(request, replies, code);
  }

  /** The grant, or the code of why a majority is not enough. */
  async #grant(
    { lock, owner }: AcquireRequest,
    startNs: bigint,
    ttlMs: number,
    given: string | undefined,
  ): Promise<Grant | 'no-fence' | 'no-validity'> {
    let fence: FencingToken | undefined;
    if (this.#fenced) {
      fence = await this.#takeFence(lock, textToBytes(owner), given);
      if (fence === undefined) return 'no-fence';
    }
    const validMs = ttlMs - driftMs(ttlMs);
    const validUntilNs = startNs + BigInt(Math.floor(validMs * 1e6));
    if (process.hrtime.bigint() >= validUntilNs) return 'no-validity';
    return { owner, fence, grantedTtlMs: ttlMs, validUntilNs, record: lock };
  }

  async #takeFence(
    lock: string,
    owner: Uint8Array,
    given: string | undefined,
  ): Promise<FencingToken | undefined> {
    const keys = fencedKeys(lock);
    let script = scripts.fence;
    if (this.#mutation === 'fence-does-not-grow') script = scripts.sameFence;
    if (given !== undefined) script = scripts.givenFence;
    const args = given === undefined ? [owner] : [owner, given];
    const reply = await runScript(this.#nodes.links[0], script, [keys.fence, keys.history], args);
    return reply.outcome === 'ok' && reply.word === 'ok' ? toFence(reply.rest[0]) : undefined;
  }

  /**
   * Takes back what was granted, on every server, also where the acquire failed or timed out. What
   * was asked for without an answer, and not found by the clean-up, may still arrive.
   */
  async #giveUp(
    { lock, owner }: AcquireRequest,
    replies: readonly ScriptReply[],
    code: string,
  ): Promise<Reply<never>> {
    const cleaned = await this.#nodes.script(record.release, [lock], [textToBytes(owner)]);
    const left = replies.filter((reply, index) => {
      const clean = cleaned[index];
      const answered = clean?.outcome === 'ok';
      if (answered && clean.word === 'ok') return false;
      if (reply.outcome === 'unknown') return true;
      return reply.outcome === 'ok' && reply.word === 'ok' && !answered;
    }).length;
    const { ok } = countOf(replies);
    const { links, majority } = this.#nodes;
    const detail = `${ok} of ${links.length} servers granted it, ${majority} are needed`;
    if (left < majority) return { outcome: 'fail', code, detail };
    return {
      outcome: 'unknown',
      code: 'majority-unknown',
      detail: `${detail}; ${left} may have it after the clean-up`,
    };
  }

  async confirm(request: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    const startNs = process.hrtime.bigint();
    const { lock, owner } = request;
    const count = countOf(await this.#nodes.script(record.confirm, [lock], [textToBytes(owner)]));
    if (count.ok < this.#nodes.majority) return this.#tooFew(count);
    const grant = await this.#grant(request, startNs, count.ttlMs, undefined);
    return typeof grant === 'string' ? { outcome: 'fail', code: grant } : { outcome: 'ok', grant };
  }

  async renew(
    lock: string,
    grant: Grant,
    leaseMs: number,
  ): Promise<Reply<{ grantedTtlMs: number }>> {
    let script = record.renew;
    if (this.#mutation === 'renew-without-owner-check') script = record.renewAnyone;
    if (this.#mutation === 'renew-drops-ttl') script = record.renewDroppingTtl;
    const args = [textToBytes(grant.owner), leaseMs];
    const count = countOf(await this.#nodes.script(script, [lock], args));
    if (count.ok >= this.#nodes.majority) {
      // The variant without a TTL believes what it asked for, as its real counterparts do.
      const ttlMs = script === record.renewDroppingTtl ? leaseMs : count.ttlMs;
      return { outcome: 'ok', grantedTtlMs: Math.max(0, Math.floor(ttlMs - driftMs(ttlMs))) };
    }
    const total = this.#nodes.links.length;
    for (const tell of this.#listeners) {
      tell(lock, `the renewal reached ${count.ok} of ${total} servers`);
    }
    return this.#tooFew(count);
  }

  async release(lock: string, grant: Grant): Promise<Reply<object>> {
    let blind = this.#mutation === 'release-without-owner-check';
    const owner = textToBytes(grant.owner);
    if (this.#mutation === 'check-then-delete') {
      const mine = countOf(await this.#nodes.script(record.confirm, [lock], [owner]));
      if (mine.ok < this.#nodes.majority) return this.#tooFew(mine);
      blind = true;
    }
    const count = countOf(await this.#releaseEverywhere(lock, grant, blind));
    const { links, majority } = this.#nodes;
    if (count.refused > links.length - majority) return notOwner();
    // A majority lacks it: nobody holds it any more, whatever the others have.
    if (count.ok + count.refused >= majority) return { outcome: 'ok' };
    return this.#tooFew(count);
  }

  #releaseEverywhere(lock: string, grant: Grant, blind: boolean): Promise<readonly ScriptReply[]> {
    const owner = textToBytes(grant.owner);
    const plain = blind ? record.releaseAnyone : record.release;
    if (!this.#fenced) return this.#nodes.script(plain, [lock], [owner]);
    const logged = blind ? scripts.loggedReleaseAnyone : scripts.loggedRelease;
    const { history } = fencedKeys(lock);
    const [first, ...rest] = this.#nodes.links;
    return Promise.all([
      runScript(first, logged, [lock, history], [owner, String(grant.fence ?? '')]),
      ...rest.map((link) => runScript(link, plain, [lock], [owner])),
    ]);
  }

  /** No majority said yes: gone if a majority cannot have it, else it hangs on who was silent. */
  #tooFew(count: Count): Reply<never> {
    const { links, majority } = this.#nodes;
    const detail = `${count.ok} of ${links.length} servers said yes, ${count.refused} no`;
    if (count.refused > links.length - majority) return notOwner(detail);
    return count.unknown > 0
      ? { outcome: 'unknown', code: 'majority-unknown', detail }
      : { outcome: 'fail', code: 'no-majority', detail };
  }

  onLost(listener: (lock: string, reason: string) => void): void {
    this.#listeners.push(listener);
  }

  close(): Promise<void> {
    this.#nodes.close();
    return Promise.resolve();
  }
}
