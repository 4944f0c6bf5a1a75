/**
 * The default worker between its messages: one lock, the latest grant, a renewal timer, and at most
 * one operation at a time. It checks nothing on its own unless told to: the servers must refuse.
 */
import { stringToText } from '../domain/text.ts';
import type { Grant, LockClient, Reply } from '../protocols/protocol.ts';
import type { ResourceClient } from '../resources/resource-client.ts';
import { runBusiness } from './worker-business.ts';
import type {
  BusinessOp,
  InitMessage,
  OpMessage,
  ParkPoint,
  ResultMessage,
  WorkerMessage,
} from './worker-protocol.ts';

type Body = Omit<
  ResultMessage,
  'type' | 'id' | 'action' | 'automatic' | 'invokedAtNs' | 'completedAtNs'
>;

export class WorkerSession {
  readonly #init: InitMessage;
  readonly #client: LockClient;
  readonly #resource: ResourceClient;
  readonly #emit: (message: WorkerMessage) => void;
  #grant: Grant | undefined;
  /** Why the grant no longer counts; undefined while the worker believes in it. */
  #lost: string | undefined;
  #active: string | undefined;
  #resume: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #renewals = 0;
  #renewing = false;

  constructor(
    init: InitMessage,
    client: LockClient,
    resource: ResourceClient,
    emit: (message: WorkerMessage) => void,
  ) {
    this.#init = init;
    this.#client = client;
    this.#resource = resource;
    this.#emit = emit;
    client.onLost((_lock, reason) => {
      this.#tellLost(reason);
    });
  }

  /** Runs one operation and emits its result; resolves when that is out. */
  async run(op: OpMessage): Promise<void> {
    if (this.#active !== undefined) {
      this.#notSent(op, 'worker-busy', `operation ${this.#active} is not finished`);
      return;
    }
    this.#active = op.id;
    try {
      await this.#perform(op);
    } finally {
      this.#active = undefined;
    }
  }

  /** Lets the parked operation `id` continue; ignored when that one is not parked. */
  go(id: string): void {
    if (id !== this.#active) return;
    const resume = this.#resume;
    this.#resume = undefined;
    resume?.();
  }

  async #perform(op: OpMessage): Promise<void> {
    if (op.action === 'business') return this.#business(op);
    if (op.action === 'acquire' || op.action === 'confirm') return this.#take(op);
    const grant = this.#grant;
    if (grant === undefined) {
      this.#notSent(op, 'no-grant', 'this worker never had a grant');
      return;
    }
    await this.#park(op, 'before-send');
    if (op.action === 'renew') return this.#renew(op.id, grant, false);
    await this.#park(op, 'before-release');
    this.#stopTimer();
    const invokedAtNs = this.#invoked(op.id, op.action, false, grant);
    const reply = await this.#client.release(this.#init.lock, grant);
    if (reply.outcome === 'ok') this.#lost = 'released';
    this.#result(op.id, op.action, false, invokedAtNs, { ...failure(reply), ...tokens(grant) });
    if (isNotOwner(reply)) this.#tellLost('the release was refused: not-owner');
  }

  async #take(op: OpMessage & { action: 'acquire' | 'confirm' }): Promise<void> {
    const owner = stringToText(op.owner);
    await this.#park(op, 'before-send');
    const invokedAtNs = this.#invoked(op.id, op.action, false, { owner, fence: undefined });
    const { lock, leaseMs } = this.#init;
    const reply = await this.#client[op.action]({ lock, owner, leaseMs, waitMs: op.waitMs });
    const completedAtNs = nowNs();
    if (reply.outcome === 'ok') {
      this.#grant = reply.grant;
      this.#lost = undefined;
      this.#startTimer();
      await this.#park(op, 'after-acquire');
    }
    const body =
      reply.outcome === 'ok'
        ? {
            outcome: reply.outcome,
            ...tokens(reply.grant),
            grantedTtlMs: Math.round(reply.grant.grantedTtlMs),
            validUntilNs: String(reply.grant.validUntilNs),
            record: reply.grant.record,
          }
        : { ...failure(reply), owner: op.owner };
    this.#result(op.id, op.action, false, invokedAtNs, body, completedAtNs);
  }

  async #business(op: BusinessOp): Promise<void> {
    const grant = this.#grant;
    if (grant === undefined) {
      this.#notSent(op, 'no-grant', 'this worker never had a grant');
      return;
    }
    const doubt = this.#lost ?? (nowNs() > grant.validUntilNs ? 'past its deadline' : undefined);
    if (op.selfCheck === true && doubt !== undefined) {
      this.#notSent(op, 'self-check', doubt);
      return;
    }
    await this.#park(op, 'before-send');
    const invokedAtNs = this.#invoked(op.id, op.action, false, grant);
    const { workerId } = this.#init;
    const body = await runBusiness(op, grant, workerId, this.#resource, (point) =>
      this.#park(op, point),
    );
    this.#result(op.id, op.action, false, invokedAtNs, { ...body, ...tokens(grant) });
  }

  async #renew(id: string, grant: Grant, automatic: boolean): Promise<void> {
    const invokedAtNs = this.#invoked(id, 'renew', automatic, grant);
    const reply = await this.#client.renew(this.#init.lock, grant, this.#init.leaseMs);
    // A renewal by the timer may have replaced the object meanwhile; the grant is the same.
    const current = this.#grant?.owner === grant.owner;
    let body: Body = { ...failure(reply), ...tokens(grant) };
    if (reply.outcome === 'ok') {
      const validUntilNs =
        BigInt(invokedAtNs) + BigInt(Math.round(reply.grantedTtlMs)) * 1_000_000n;
      const grantedTtlMs = Math.round(reply.grantedTtlMs);
      if (current) this.#grant = { ...grant, grantedTtlMs, validUntilNs };
      body = { ...body, grantedTtlMs, validUntilNs: String(validUntilNs) };
    }
    this.#result(id, 'renew', automatic, invokedAtNs, body);
    if (current && isNotOwner(reply)) this.#tellLost('the renewal was refused: not-owner');
  }

  #startTimer(): void {
    this.#stopTimer();
    const { renewEveryMs } = this.#init;
    if (renewEveryMs === null) return;
    this.#timer = setInterval(() => {
      void this.#renewByTimer();
    }, renewEveryMs);
  }

  #stopTimer(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** One renewal at a time, also when the timer fires late or the server is slow. */
  async #renewByTimer(): Promise<void> {
    if (this.#renewing || this.#grant === undefined) return;
    this.#renewing = true;
    this.#renewals += 1;
    try {
      await this.#renew(`${this.#init.workerId}/renew-${this.#renewals}`, this.#grant, true);
    } finally {
      this.#renewing = false;
    }
  }

  #tellLost(reason: string): void {
    if (this.#lost !== undefined) return;
    this.#lost = reason;
    this.#stopTimer();
    this.#emit({ type: 'lost', lock: this.#init.lock, reason, atNs: String(nowNs()) });
  }

  async #park(op: OpMessage, point: ParkPoint): Promise<void> {
    if (op.park !== point) return;
    await new Promise<void>((resolve) => {
      this.#resume = resolve;
      this.#emit({ type: 'parked', id: op.id, point, atNs: String(nowNs()) });
    });
  }

  /** Says that the operation leaves, and stamps it: the pipe is written before the socket. */
  #invoked(
    id: string,
    action: OpMessage['action'],
    automatic: boolean,
    grant: Pick<Grant, 'owner' | 'fence'>,
  ): string {
    const atNs = String(nowNs());
    this.#emit({ type: 'invoked', id, action, automatic, atNs, ...tokens(grant) });
    return atNs;
  }

  #result(
    id: string,
    action: OpMessage['action'],
    automatic: boolean,
    invokedAtNs: string,
    body: Body,
    completedAtNs = nowNs(),
  ): void {
    this.#emit({
      type: 'result',
      id,
      action,
      automatic,
      ...body,
      invokedAtNs,
      completedAtNs: String(completedAtNs),
    });
  }

  #notSent(op: OpMessage, code: string, detail: string): void {
    const atNs = nowNs();
    const body = { outcome: 'fail', code, detail } as const;
    this.#result(op.id, op.action, false, String(atNs), body, atNs);
  }
}

function isNotOwner(reply: Reply<object>): boolean {
  return reply.outcome === 'fail' && reply.code === 'not-owner';
}

function nowNs(): bigint {
  return process.hrtime.bigint();
}

function tokens(grant: Pick<Grant, 'owner' | 'fence'>): { owner: string; fence?: string } {
  const { owner, fence } = grant;
  return { owner, ...(fence === undefined ? {} : { fence: String(fence) }) };
}

/** Outcome, code and detail of a reply, in protocol order. */
function failure(reply: Reply<object>): Pick<Body, 'outcome' | 'code' | 'detail'> {
  if (reply.outcome === 'ok') return { outcome: 'ok' };
  const { outcome, code, detail } = reply;
  return { outcome, code, ...(detail === undefined ? {} : { detail }) };
}
