/**
 * A client of our own that goes the way of a worker, through its proxies: what it meets there, the
 * worker meets too. It holds a lock of its own, which nobody else wants, so that its questions are
 * real requests in every protocol.
 */
import { randomBytes } from 'node:crypto';
import { FaultNotApplied, FencepostError } from '../../domain/errors.ts';
import { parseTarget } from '../../domain/target.ts';
import { stringToText } from '../../domain/text.ts';
import type { AcquireRequest } from '../../protocols/protocol.ts';
import type { FaultContext } from './fault.ts';

export interface Probe {
  /** Asks once. @returns whether it was answered within the time limit */
  ask(): Promise<boolean>;
  close(): Promise<void>;
}

/** Outlives every fault; it goes with its client, or with the keys of the run. */
const leaseMs = 60_000;

/** @throws {FaultNotApplied} when the way was not open before the fault */
export async function openProbe(context: FaultContext, requestTimeoutMs: number): Promise<Probe> {
  const { protocol, proxies, prefix, id, worker } = context;
  const notOpen = (cause: unknown): FaultNotApplied =>
    new FaultNotApplied(`the way of worker ${worker.id} was not open before the fault`, {
      code: 'fault-not-applied',
      cause,
      definite: true,
    });
  const target = parseTarget(proxies.serviceUrl);
  const clientName = `fencepost-probe-${worker.id}`;
  const client = await protocol
    .connect({ target, requestTimeoutMs, clientName, mutation: undefined })
    .catch((error: unknown) => {
      throw error instanceof FencepostError ? notOpen(error) : error;
    });
  const request: AcquireRequest = {
    lock: `${prefix}/probe-${id}`,
    owner: stringToText(`probe.${randomBytes(6).toString('hex')}`),
    leaseMs,
    waitMs: 0,
  };
  const taken = await client.acquire(request);
  if (taken.outcome !== 'ok') {
    await client.close();
    throw notOpen(taken.detail ?? taken.code);
  }
  return {
    async ask() {
      const reply = await client.confirm(request);
      return reply.outcome !== 'unknown' && !(reply.outcome === 'fail' && isNotSent(reply.code));
    },
    async close() {
      await client.release(request.lock, taken.grant);
      await client.close();
    },
  };
}

function isNotSent(code: string): boolean {
  return code === 'connect-failed' || code === 'target-unreachable';
}
