/**
 * The fenced Redis protocol: a grant record with a TTL, a counter that gives each grant a larger
 * number, and a stream of grants, all written by one script. The fence lives on the same server as
 * the lock: a failover that loses writes can take it back, too.
 */
import { removeFenced } from './redis-interventions.ts';
import { fencedKeys } from '../domain/fenced-layout.ts';
import { textToBytes } from '../domain/text.ts';
import type {
  AcquireRequest,
  Grant,
  LockClient,
  LockProtocol,
  MutationRole,
  ProtocolContext,
  Reply,
} from './protocol.ts';
import { pollWhileBusy } from './poll.ts';
import { redisWire, refused, runScript, ttlOf } from './redis-client.ts';
import * as scripts from './redis-fenced-scripts.ts';
import { toFence } from './redis-fenced-history.ts';
import { observeRedisFenced } from './redis-fenced-observer.ts';
import { redisDefiniteCodes, type RedisSender } from './redis-link.ts';
import { openRedisLink, redisServers } from './open-redis-link.ts';

export const redisFenced: LockProtocol = {
  id: 'redis-fenced',
  title: 'Redis record with a fence counter, one script per step',
  family: 'redis',
  fenced: true,
  fenceSource: 'counter beside the lock, raised in the granting script',
  expiryGranularityMs: 1,
  definiteCodes: ['busy', 'not-owner', 'foreign-record', ...redisDefiniteCodes],
  mutations: {
    'release-without-owner-check': 'variant',
    'renew-without-owner-check': 'variant',
    'fence-does-not-grow': 'variant',
    'fence-outside-the-atomic-step': 'variant',
    'renew-drops-ttl': 'variant',
    'check-then-delete': 'variant',
  },
  wire: redisWire,
  interventions: { 'remove-record': removeFenced },
  servers: redisServers,
  async connect(context) {
    return fencedClient(await openRedisLink(context), context);
  },
  observe: observeRedisFenced,
};

/** The fenced client on a connection of the caller's. */
export function fencedClient(link: RedisSender, context: ProtocolContext): LockClient {
  return new FencedClient(link, context);
}

class FencedClient implements LockClient {
  readonly #link: RedisSender;
  readonly #mutation: MutationRole | undefined;
  readonly #random: () => number;

  constructor(link: RedisSender, context: ProtocolContext) {
    this.#link = link;
    this.#mutation = context.mutation;
    this.#random = context.random ?? Math.random;
  }

  async acquire(request: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    const { owner, leaseMs } = request;
    const args = [textToBytes(owner), leaseMs];
    let script = scripts.acquire;
    if (this.#mutation === 'fence-does-not-grow') script = scripts.acquireSameFence;
    if (this.#mutation === 'fence-outside-the-atomic-step') {
      const taken = await runScript(this.#link, scripts.takeFence, keysOf(request.lock), []);
      if (taken.outcome !== 'ok') return taken;
      script = scripts.acquireWithGivenFence;
      return pollWhileBusy(
        () => this.#grant(request, script, [...args, taken.word]),
        request.waitMs,
        this.#random,
      );
    }
    return pollWhileBusy(() => this.#grant(request, script, args), request.waitMs, this.#random);
  }

  confirm(request: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    return this.#grant(request, scripts.confirm, [textToBytes(request.owner)]);
  }

  async #grant(
    { lock, owner }: AcquireRequest,
    script: string,
    args: readonly (Uint8Array | string | number)[],
  ): Promise<Reply<{ grant: Grant }>> {
    const sentNs = process.hrtime.bigint();
    const reply = await runScript(this.#link, script, keysOf(lock), args);
    if (reply.outcome !== 'ok') return reply;
    if (reply.word !== 'ok') return refused(reply);
    const fence = toFence(reply.rest[0]);
    const grantedTtlMs = ttlOf(reply.rest[1]);
    if (fence === undefined) return badRecord();
    return {
      outcome: 'ok',
      grant: {
        owner,
        fence,
        grantedTtlMs,
        validUntilNs: sentNs + BigInt(grantedTtlMs) * 1_000_000n,
        record: fencedKeys(lock).lock,
      },
    };
  }

  async renew(
    lock: string,
    grant: Grant,
    leaseMs: number,
  ): Promise<Reply<{ grantedTtlMs: number }>> {
    let script = scripts.renew;
    if (this.#mutation === 'renew-without-owner-check') script = scripts.renewAnyone;
    if (this.#mutation === 'renew-drops-ttl') script = scripts.renewDroppingTtl;
    const args = [...grantArgs(grant), leaseMs];
    const reply = await runScript(this.#link, script, keysOf(lock), args);
    if (reply.outcome !== 'ok') return reply;
    if (reply.word !== 'ok') return refused(reply);
    // The variant without a TTL believes what it asked for, as its real counterparts do.
    const grantedTtlMs = script === scripts.renewDroppingTtl ? leaseMs : ttlOf(reply.rest[0]);
    return { outcome: 'ok', grantedTtlMs };
  }

  async release(lock: string, grant: Grant): Promise<Reply<object>> {
    let script = scripts.release;
    if (this.#mutation === 'release-without-owner-check') script = scripts.releaseAnyone;
    if (this.#mutation === 'check-then-delete') {
      const mine = await runScript(this.#link, scripts.confirm, keysOf(lock), grantArgs(grant));
      if (mine.outcome !== 'ok') return mine;
      if (mine.word !== 'ok') return refused(mine);
      script = scripts.releaseAnyone;
    }
    const reply = await runScript(this.#link, script, keysOf(lock), grantArgs(grant));
    if (reply.outcome !== 'ok') return reply;
    return reply.word === 'ok' ? { outcome: 'ok' } : refused(reply);
  }

  /** Redis tells nobody that a key expired: a failing renewal is how a holder finds out. */
  onLost(): void {
    return;
  }

  close(): Promise<void> {
    this.#link.close();
    return Promise.resolve();
  }
}

function keysOf(lock: string): readonly string[] {
  const keys = fencedKeys(lock);
  return [keys.lock, keys.fence, keys.history];
}

function grantArgs(grant: Grant): readonly (Uint8Array | string)[] {
  return [textToBytes(grant.owner), String(grant.fence ?? '')];
}

function badRecord(): Reply<never> {
  return { outcome: 'unknown', code: 'bad-reply', detail: 'the record carries no fence number' };
}
