/**
 * Worker protocol, version 1: JSON lines on a worker's stdin and stdout; its log goes to stderr.
 * A worker is one operating-system process that plays one contender. Ours (worker-main.ts) is only
 * the default: a service in any language can speak this. 64-bit numbers are decimal strings;
 * times are nanoseconds of the host's monotonic clock (`process.hrtime.bigint()`,
 * CLOCK_MONOTONIC), which the controller checks by `ping`.
 *
 * The order of messages: `init` → `ready`; then for each `op`: `invoked`, `parked`? (waits for
 * `go`), `result`. One operation at a time. A worker that renews by itself reports each renewal as
 * `invoked` and `result` with `automatic: true` and an id of its own. When stdin ends the worker
 * exits at once, without releasing anything.
 */
import { z } from 'zod';

export const workerProtocolVersion = 1;

const decimal = z.string().regex(/^\d{1,20}$/, 'a decimal number as a string');
const timeNs = decimal;

/**
 * Where an operation may stop and say `parked` until `go`.
 * - `before-send`: nothing of the operation has left (any action)
 * - `after-acquire`: the acquire's reply was parsed, its result is not yet reported
 * - `before-commit`: business; the state was read, the writing request has not left
 * - `inside-effect`: business `effect`; the invocation is recorded, the completion is not
 * - `before-release`: same as `before-send` of a release
 */
export const parkPoints = [
  'before-send',
  'after-acquire',
  'before-commit',
  'inside-effect',
  'before-release',
] as const;
export type ParkPoint = (typeof parkPoints)[number];

/** What business operations a worker can be told to do; each is one effect on one subject. */
export const businessActions = [
  'close-order',
  'pay-order',
  'release-stock',
  'write',
  'effect',
  'claim-task',
  'checkpoint',
] as const;
export type BusinessAction = (typeof businessActions)[number];

const initMessage = z.object({
  type: z.literal('init'),
  version: z.literal(workerProtocolVersion),
  workerId: z.string().min(1),
  /** Protocol id, e.g. `redis-fenced`. */
  protocol: z.string().min(1),
  /** Target URL of the lock service, leading through this worker's own proxies. May hold a password. */
  service: z.string().min(1),
  /**
   * What its connections to the lock service should call themselves (Redis: CLIENT SETNAME), so that
   * the servers can tell which of them come from this worker. No other worker of any run has it.
   */
  clientName: z.string().min(1),
  /** The business resource, through this worker's own proxy. */
  resource: z.object({ host: z.string(), port: z.int().positive() }),
  /** Mutation role the lock client must run as, or null. */
  mutation: z.string().nullable(),
  lock: z.string().min(1),
  leaseMs: z.int().positive(),
  /** Renewal timer after each successful acquire; null: none. */
  renewEveryMs: z.int().positive().nullable(),
  requestTimeoutMs: z.int().positive(),
  heartbeatEveryMs: z.int().positive(),
  /** Seed of this worker's own draws (poll jitter). */
  seed: z.string(),
});
export type InitMessage = z.infer<typeof initMessage>;

const opBase = {
  type: z.literal('op'),
  /** Unique in the run; comes back in every message about this operation. */
  id: z.string().min(1),
  park: z.enum(parkPoints).optional(),
};

const lockOp = z.object({
  ...opBase,
  action: z.enum(['acquire', 'confirm']),
  /** Owner token, chosen by the controller so that the history knows it even if the reply is lost. */
  owner: z.string().min(1),
  /** acquire: how long to wait in the protocol's own way; 0 tries once. */
  waitMs: z.int().nonnegative(),
});

/** Uses the worker's latest grant, also after it was lost: the server must refuse, not the worker. */
const grantOp = z.object({ ...opBase, action: z.enum(['renew', 'release']) });

const businessOp = z.object({
  ...opBase,
  action: z.literal('business'),
  business: z.enum(businessActions),
  /** Order, sku, task, effect target or register. */
  subject: z.string().min(1),
  /** Idempotency key of the effect: the same for every attempt at it, by whichever worker. */
  operationId: z.string().min(1),
  /** Which try of which worker at the whole task; goes to the resource's ledger. */
  attempt: z.int().nonnegative(),
  value: z.string().optional(),
  /**
   * Refuse without sending (`fail`, code `self-check`) when the lease is known lost or past its
   * deadline. Default false: the raw write shows what the resource does.
   */
  selfCheck: z.boolean().optional(),
});

const opMessage = z.discriminatedUnion('action', [lockOp, grantOp, businessOp]);
export type OpMessage = z.infer<typeof opMessage>;
export type BusinessOp = z.infer<typeof businessOp>;

const goMessage = z.object({ type: z.literal('go'), id: z.string() });
const pingMessage = z.object({ type: z.literal('ping'), nonce: z.int() });

/**
 * Do nothing else, neither renewals nor heartbeats, while the process lives and uses its processor:
 * until this file is gone, and at most so long. Sent only to a worker that honours `starve`.
 */
const starveMessage = z.object({
  type: z.literal('starve'),
  untilGone: z.string().min(1),
  atMostMs: z.int().positive(),
});
export type StarveMessage = z.infer<typeof starveMessage>;

/** Controller → worker. */
export const controllerMessage = z.union([
  initMessage,
  opMessage,
  goMessage,
  pingMessage,
  starveMessage,
]);
export type ControllerMessage = z.infer<typeof controllerMessage>;

const readyMessage = z.object({
  type: z.literal('ready'),
  version: z.literal(workerProtocolVersion),
  workerId: z.string(),
  pid: z.int().positive(),
  /**
   * What this worker really does when told: park points by name, business actions by name,
   * `renew`, `confirm`, `renew-timer`, `mutation`, `fence`, `self-check`, `starve`. A scenario
   * that needs more is refused.
   */
  honours: z.array(z.string()),
});
export type ReadyMessage = z.infer<typeof readyMessage>;

/** Sent just before the first byte of an operation leaves; stamped before the write call. */
const invokedMessage = z.object({
  type: z.literal('invoked'),
  id: z.string(),
  action: z.enum(['acquire', 'confirm', 'renew', 'release', 'business']),
  /** A renewal by the worker's own timer. */
  automatic: z.boolean(),
  atNs: timeNs,
  owner: z.string().optional(),
  fence: decimal.optional(),
});
export type InvokedMessage = z.infer<typeof invokedMessage>;

const parkedMessage = z.object({
  type: z.literal('parked'),
  id: z.string(),
  point: z.enum(parkPoints),
  atNs: timeNs,
});
export type ParkedMessage = z.infer<typeof parkedMessage>;

const resultMessage = z.object({
  type: z.literal('result'),
  id: z.string(),
  action: z.enum(['acquire', 'confirm', 'renew', 'release', 'business']),
  automatic: z.boolean(),
  /** ok: took effect. fail: surely no effect. unknown: maybe, once, at any time after the invocation. */
  outcome: z.enum(['ok', 'fail', 'unknown']),
  /** Stable reason; always there for fail and unknown. */
  code: z.string().optional(),
  /** For people, escaped. */
  detail: z.string().optional(),
  owner: z.string().optional(),
  fence: decimal.optional(),
  grantedTtlMs: z.int().nonnegative().optional(),
  /** The holder's own deadline, counted from the first send of the acquire or renewal. */
  validUntilNs: timeNs.optional(),
  /** Server record of the grant (key, etcd key, node path). */
  record: z.string().optional(),
  /** Before the write call. Equals `completedAtNs` when nothing was sent. */
  invokedAtNs: timeNs,
  /** After the reply was parsed, or when the worker gave up. */
  completedAtNs: timeNs,
  /** Business: whether the write counted. A refusal is outcome `fail`, `accepted: false`. */
  accepted: z.boolean().optional(),
  /** Business: the resource's own order of this write. */
  version: decimal.optional(),
  /** Business: answered from an earlier identical operation, nothing was applied again. */
  replayed: z.boolean().optional(),
});
export type ResultMessage = z.infer<typeof resultMessage>;

const heartbeatMessage = z.object({
  type: z.literal('heartbeat'),
  /** Dense from 0. */
  seq: z.int().nonnegative(),
  atNs: timeNs,
  /** User plus system time of the process, in microseconds. */
  cpuUs: z.int().nonnegative().optional(),
});
export type HeartbeatMessage = z.infer<typeof heartbeatMessage>;

/** The worker was told, or found out, that it no longer holds the lock. */
const lostMessage = z.object({
  type: z.literal('lost'),
  lock: z.string(),
  reason: z.string(),
  atNs: timeNs,
});
export type LostMessage = z.infer<typeof lostMessage>;

const pongMessage = z.object({ type: z.literal('pong'), nonce: z.int(), atNs: timeNs });

/** The worker ends by itself. After it only EOF. */
const byeMessage = z.object({ type: z.literal('bye'), reason: z.string() });

/** Worker → controller. */
export const workerMessage = z.discriminatedUnion('type', [
  readyMessage,
  invokedMessage,
  parkedMessage,
  resultMessage,
  heartbeatMessage,
  lostMessage,
  pongMessage,
  byeMessage,
]);
export type WorkerMessage = z.infer<typeof workerMessage>;

/** One message as its line, newline included. */
export function encodeMessage(message: ControllerMessage | WorkerMessage): string {
  return `${JSON.stringify(message)}\n`;
}
