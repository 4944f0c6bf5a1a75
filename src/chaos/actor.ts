/**
 * A worker as the script drives it: sends operations, keeps the one that is parked, and writes
 * every operation and loss notice to the history. Each acquire is an attempt with a new owner token.
 */
import { randomBytes } from 'node:crypto';
import type { Action } from '../domain/event.ts';
import type { OwnerToken } from '../domain/holder.ts';
import { stringToText } from '../domain/text.ts';
import type { Recorder } from './recorder.ts';
import type {
  InvokedMessage,
  LostMessage,
  OpMessage,
  ParkedMessage,
  ResultMessage,
} from './worker-protocol.ts';
import type { Received, WorkerHandle } from './worker.ts';
import type { WorkerProxies } from './worker-proxies.ts';

export interface ActorOptions {
  readonly handle: WorkerHandle;
  readonly proxies: WorkerProxies;
  /** What its connections call themselves. */
  readonly clientName: string;
  readonly recorder: Recorder;
  readonly lock: string;
  readonly leaseMs: number;
  /** Kind of the business resource, as the history names it. */
  readonly resource: string;
}

/** What the script asks for; ids, tokens and attempts are the actor's business. */
export type Order =
  | { readonly action: 'acquire'; readonly waitMs: number }
  | { readonly action: 'confirm' | 'renew' | 'release' }
  | {
      readonly action: 'business';
      readonly business: (OpMessage & { action: 'business' })['business'];
      readonly subject: string;
      readonly operationId: string;
      readonly value?: string;
      readonly selfCheck?: boolean;
    };

/** An operation on its way. */
export interface Sent {
  readonly id: string;
  readonly op: OpMessage;
  readonly result: Promise<ResultMessage>;
}

export class Actor {
  readonly handle: WorkerHandle;
  readonly proxies: WorkerProxies;
  readonly #options: ActorOptions;
  readonly #sent = new Map<string, OpMessage>();
  readonly #invoked = new Set<string>();
  #attempt = 0;
  #owner: OwnerToken | undefined;
  #fence: string | undefined;
  /** The worker continues under a new id after an outcome that nobody knows. */
  #incarnation = 1;

  constructor(options: ActorOptions) {
    this.handle = options.handle;
    this.proxies = options.proxies;
    this.#options = options;
    options.handle.onMessage((received) => {
      this.#receive(received);
    });
  }

  get clientName(): string {
    return this.#options.clientName;
  }

  get id(): string {
    return this.handle.id;
  }

  /** Owner token of the latest acquire, granted or not. */
  get owner(): OwnerToken | undefined {
    return this.#owner;
  }

  /** @param id unique in the run: the id of the step */
  send(id: string, order: Order, park: OpMessage['park']): Sent {
    const op = this.#toMessage(id, order, park);
    this.#sent.set(id, op);
    const result = this.handle.send(op).then((message) => {
      this.#complete(message);
      return message;
    });
    return { id, op, result };
  }

  parked(sent: Sent): Promise<ParkedMessage | undefined> {
    return this.handle.parked(sent.id);
  }

  #toMessage(id: string, order: Order, park: OpMessage['park']): OpMessage {
    const base = { type: 'op', id, ...(park === undefined ? {} : { park }) } as const;
    if (order.action === 'acquire') {
      this.#attempt += 1;
      const nonce = randomBytes(6).toString('hex');
      this.#owner = stringToText(`${this.id}.${this.#attempt}.${nonce}`);
      this.#fence = undefined;
      return { ...base, action: order.action, waitMs: order.waitMs, owner: this.#owner };
    }
    if (order.action === 'confirm') {
      return { ...base, action: order.action, waitMs: 0, owner: this.#owner ?? `${this.id}.none` };
    }
    if (order.action !== 'business') return { ...base, action: order.action };
    return { ...base, ...order, attempt: this.#attempt };
  }

  #receive({ message }: Received): void {
    if (message.type === 'invoked') this.#invoke(message);
    else if (message.type === 'lost') this.#lost(message);
    else if (message.type === 'result' && message.automatic) this.#complete(message);
  }

  #invoke(message: InvokedMessage | ResultMessage): void {
    const { recorder, lock, leaseMs, resource } = this.#options;
    const op = this.#sent.get(message.id);
    this.#invoked.add(message.id);
    const { owner = this.#owner, fence } = message;
    const asksLease = message.action === 'acquire' || message.action === 'renew';
    recorder.record({
      kind: 'invoke',
      process: this.#process(),
      source: 'worker',
      atNs: recorder.toRunNs('atNs' in message ? message.atNs : message.invokedAtNs),
      op: message.id,
      action: actionOf(message.action, op),
      worker: this.id,
      attempt: this.#attempt,
      lock,
      ...(owner === undefined ? {} : { owner }),
      ...(fence === undefined ? {} : { fence: BigInt(fence) }),
      ...(asksLease ? { leaseMs } : {}),
      ...(op?.action === 'business'
        ? {
            resource,
            business: op.business,
            subject: op.subject,
            effectId: op.operationId,
            requestId: op.id,
          }
        : {}),
    });
  }

  #complete(message: ResultMessage): void {
    const { recorder } = this.#options;
    // Refused by the worker itself, or ended before it said that it sent anything.
    if (!this.#invoked.has(message.id)) this.#invoke(message);
    const { accepted, replayed, code, fence, grantedTtlMs, validUntilNs, version } = message;
    recorder.record({
      kind: 'complete',
      process: this.#process(),
      source: 'worker',
      atNs: recorder.toRunNs(message.completedAtNs),
      op: message.id,
      outcome: message.outcome,
      ...(code === undefined ? {} : { code }),
      ...(fence === undefined ? {} : { fence: BigInt(fence) }),
      ...(accepted === undefined ? {} : { accepted: accepted && replayed !== true }),
      ...(grantedTtlMs === undefined ? {} : { grantedTtlMs }),
      ...(validUntilNs === undefined ? {} : { validUntilNs: recorder.toRunNs(validUntilNs) }),
      ...(version === undefined ? {} : { version: BigInt(version) }),
    });
    if (message.action === 'acquire' && message.outcome === 'ok') this.#fence = fence;
    if (message.outcome === 'unknown') this.#incarnation += 1;
  }

  #lost({ lock, reason, atNs }: LostMessage): void {
    const { recorder } = this.#options;
    recorder.record({
      kind: 'notice',
      process: this.#process(),
      source: 'worker',
      atNs: recorder.toRunNs(atNs),
      notice: 'lost',
      worker: this.id,
      lock,
      reason,
      ...(this.#owner === undefined ? {} : { owner: this.#owner }),
      ...(this.#fence === undefined ? {} : { fence: BigInt(this.#fence) }),
    });
  }

  #process(): string {
    return this.#incarnation === 1 ? this.id : `${this.id}/${this.#incarnation}`;
  }
}

/** The history knows effects and checkpoints apart; every other business step is a write. */
function actionOf(action: OpMessage['action'], op: OpMessage | undefined): Action {
  if (action !== 'business') return action;
  if (op?.action !== 'business') return 'write';
  return op.business === 'effect' || op.business === 'checkpoint' ? op.business : 'write';
}
