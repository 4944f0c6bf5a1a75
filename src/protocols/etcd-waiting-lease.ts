/** The lease of a contender that waits in an etcd queue, kept alive until it is its turn. */
import type { EtcdLink } from '../clients/etcd/link.ts';
import { keepAlive, type Granted } from './etcd-client.ts';

/** Renews three times in the lease's length until it is stopped. */
export class WaitingLease {
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout;
  latest: Granted;

  constructor(link: EtcdLink, granted: Granted, timeoutMs: number) {
    this.latest = granted;
    this.#timer = setInterval(() => {
      void this.#renew(link, timeoutMs);
    }, granted.ttlMs / 3);
  }

  /** Aborted when the lease has ended: the place in the queue is gone. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #renew(link: EtcdLink, timeoutMs: number): Promise<void> {
    const sentNs = process.hrtime.bigint();
    const reply = await keepAlive(link, this.latest.lease, timeoutMs);
    if (reply.outcome === 'ok') {
      this.latest = { ...this.latest, ttlMs: reply.grantedTtlMs, sentNs };
    } else if (reply.outcome === 'fail' && reply.code === 'not-owner') {
      this.stop();
      this.#abort.abort();
    }
  }
}
