/**
 * The Redis locks with `WAIT`: a grant counts only when a replica has confirmed that it has the
 * record. It narrows the window in which a failover loses a lock, and does not close it: the replica
 * that confirmed need not be the one that is promoted.
 */
import { fencedFields, fencedKeys } from '../domain/fenced-layout.ts';
import { textToBytes } from '../domain/text.ts';
import type {
  AcquireRequest,
  Grant,
  LockClient,
  LockProtocol,
  ProtocolContext,
  Reply,
} from './protocol.ts';
import { runScript } from './redis-client.ts';
import { fencedClient, redisFenced } from './redis-fenced.ts';
import { type RedisLink, type RedisSender } from './redis-link.ts';
import { openRedisLink } from './open-redis-link.ts';
import { redisSetNx, setNxClient } from './redis-set-nx.ts';

/** Replicas that must confirm. */
const confirmations = 1;
const longestWaitMs = 500;

const tooFewReplicas = 'too-few-replicas';
const tooFewAndUnknown = 'too-few-replicas-release-unknown';
const tooFewForRenewal = 'too-few-replicas-renewed';

/** The lock under the `WAIT`: how it is taken, and how its record is written again. */
interface Base {
  readonly protocol: LockProtocol;
  readonly client: (link: RedisSender, context: ProtocolContext) => LockClient;
  readonly record: (lock: string) => string;
  /** Lua that reads the owner of KEYS[1]. */
  readonly readOwner: string;
}

export const redisWait = waiting('redis-wait', {
  protocol: redisSetNx,
  client: setNxClient,
  record: (lock) => lock,
  readOwner: `redis.call('GET', KEYS[1])`,
});

export const redisWaitFenced = waiting('redis-wait-fenced', {
  protocol: redisFenced,
  client: fencedClient,
  record: (lock) => fencedKeys(lock).lock,
  readOwner: `redis.call('HGET', KEYS[1], '${fencedFields.owner}')`,
});

function waiting(id: string, base: Base): LockProtocol {
  const { protocol } = base;
  return {
    ...protocol,
    id,
    title: `${protocol.title}; the grant counts when ${confirmations} replica has confirmed it (WAIT)`,
    replicas: confirmations,
    shortfallCodes: [tooFewReplicas, tooFewAndUnknown, tooFewForRenewal],
    definiteCodes: [...protocol.definiteCodes, tooFewReplicas],
    async connect(context) {
      return new WaitingClient(await openRedisLink(context), context, base);
    },
  };
}

const touchScript = (readOwner: string): string => `-- fencepost:touch
-- KEYS: lock record. ARGV: owner. Writes the deadline of the record once more, as it is.
-- Returns {'ok'} or {'not-owner'}.
if ${readOwner} ~= ARGV[1] then return {'not-owner'} end
local left = redis.call('PTTL', KEYS[1])
if left <= 0 then return {'not-owner'} end
redis.call('PEXPIRE', KEYS[1], left)
return {'ok'}`;

class WaitingClient implements LockClient {
  readonly #link: RedisLink;
  readonly #context: ProtocolContext;
  readonly #base: Base;
  readonly #plain: LockClient;
  readonly #waitMs: number;

  constructor(link: RedisLink, context: ProtocolContext, base: Base) {
    this.#link = link;
    this.#context = context;
    this.#base = base;
    this.#plain = base.client(link, context);
    this.#waitMs = Math.min(longestWaitMs, Math.floor(context.requestTimeoutMs / 2));
  }

  acquire(request: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    return this.#confirmed(request, (client) => client.acquire(request));
  }

  confirm(request: AcquireRequest): Promise<Reply<{ grant: Grant }>> {
    return this.#confirmed(request, (client) => client.confirm(request));
  }

  async #confirmed(
    { lock }: AcquireRequest,
    take: (client: LockClient) => Promise<Reply<{ grant: Grant }>>,
  ): Promise<Reply<{ grant: Grant }>> {
    // WAIT counts what was written on its own connection: a new one has replicated all of nothing.
    const connection = await this.#link.pin(this.#base.record(lock));
    const pinned = { send: connection.send, close: () => undefined };
    const reply = await take(this.#base.client(pinned, this.#context));
    if (reply.outcome !== 'ok') return reply;
    const replicas = await this.#replicas(connection, lock, reply.grant);
    if (replicas >= confirmations) return reply;
    return this.#giveBack(lock, reply.grant, replicas);
  }

  /** How many replicas surely have the record; 0 when nobody says. */
  async #replicas(
    connection: Pick<RedisSender, 'send'>,
    lock: string,
    grant: Grant,
  ): Promise<number> {
    // A grant that was found again was written on another connection: write it on this one.
    const touch = touchScript(this.#base.readOwner);
    const owner = textToBytes(grant.owner);
    const touched = await runScript(connection, touch, [this.#base.record(lock)], [owner]);
    if (touched.outcome !== 'ok' || touched.word !== 'ok') return 0;
    return this.#confirmations(connection);
  }

  async #confirmations(connection: Pick<RedisSender, 'send'>): Promise<number> {
    const reply = await connection.send('WAIT', confirmations, this.#waitMs);
    return reply.outcome === 'ok' && typeof reply.value === 'bigint' ? Number(reply.value) : 0;
  }

  #shortfall(replicas: number): string {
    return `${replicas} of ${confirmations} replicas confirmed within ${this.#waitMs} ms`;
  }

  /** Without enough replicas there is no lock; whether the record has gone only its release says. */
  async #giveBack(lock: string, grant: Grant, replicas: number): Promise<Reply<never>> {
    const shortfall = this.#shortfall(replicas);
    const released = await this.#plain.release(lock, grant);
    if (released.outcome === 'ok' || released.code === 'not-owner') {
      return { outcome: 'fail', code: tooFewReplicas, detail: `${shortfall}; released` };
    }
    const detail = `${shortfall}; its release ended ${released.code}`;
    return { outcome: 'unknown', code: tooFewAndUnknown, detail };
  }

  /** Longer on the primary only is no longer lease to rely on, and no shorter one either: unknown. */
  async renew(
    lock: string,
    grant: Grant,
    leaseMs: number,
  ): Promise<Reply<{ grantedTtlMs: number }>> {
    const connection = await this.#link.pin(this.#base.record(lock));
    const pinned = { send: connection.send, close: () => undefined };
    const reply = await this.#base.client(pinned, this.#context).renew(lock, grant, leaseMs);
    if (reply.outcome !== 'ok') return reply;
    const replicas = await this.#confirmations(connection);
    if (replicas >= confirmations) return reply;
    return { outcome: 'unknown', code: tooFewForRenewal, detail: this.#shortfall(replicas) };
  }

  release(lock: string, grant: Grant): Promise<Reply<object>> {
    return this.#plain.release(lock, grant);
  }

  /** Redis tells nobody that a key expired: a failing renewal is how a holder finds out. */
  onLost(): void {
    return;
  }

  close(): Promise<void> {
    return this.#plain.close();
  }
}
