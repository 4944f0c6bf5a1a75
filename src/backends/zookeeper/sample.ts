/** Watches one grant: does the same node stay, and does its session send packets. */
import { formatDuration } from '../../domain/duration.ts';
import { known, unknown, valueOf, type Known } from '../../domain/known.ts';
import type { LeaseObservation, RenewalSample } from '../../domain/lease.ts';
import type { LockSnapshot } from '../../domain/lock.ts';
import { readIdentity } from './identity.ts';
import type { InspectWorld } from './inspect.ts';
import { look, type Look } from './look.ts';
import { readConnections } from '../../clients/zookeeper/members.ts';
import { pause } from './rate.ts';

const autoLimitMs = 20_000;

/** Packets received from the owner's session since the window began are its renewals. */
export async function sampleSession(
  world: InspectWorld,
  seen: LockSnapshot,
  forMs: number | 'auto',
  signal: AbortSignal,
  onProgress?: (elapsedMs: number, totalMs: number) => void,
): Promise<RenewalSample> {
  if (seen.identity === undefined || seen.lease.kind !== 'session') {
    return ended('not-applicable', 0, [], 'it hangs on no session: nothing renews it');
  }
  const identity = readIdentity(seen.identity);
  const neededMs = twoThirds(seen.lease.timeoutMs);
  const totalMs = windowMs(forMs, neededMs);
  const startedAt = performance.now();
  const observations: LeaseObservation[] = [];
  const sessionId = BigInt(seen.lease.sessionId);
  let first: number | undefined;
  for (;;) {
    const elapsedMs = performance.now() - startedAt;
    const now = await look(world, identity, seen);
    const incarnation = now.kind === 'same' ? now.stat.czxid.toString() : undefined;
    observations.push({ atMs: elapsedMs, ttlMs: undefined, incarnation, epoch: undefined });
    const over = endOfGrant(now);
    if (over !== undefined) return ended(over[0], elapsedMs, observations, over[1]);
    const heard = await packetsOf(world, sessionId);
    if (typeof heard === 'string') return ended('not-applicable', elapsedMs, observations, heard);
    first ??= heard;
    if (heard > first || elapsedMs >= totalMs) {
      return counted(heard - first, elapsedMs, observations, neededMs);
    }
    onProgress?.(elapsedMs, totalMs);
    await pause(Math.min(500, Math.max(20, totalMs - elapsedMs)), signal);
  }
}

function windowMs(forMs: number | 'auto', neededMs: Known<number>): number {
  return forMs === 'auto' ? Math.min(valueOf(neededMs) ?? 3_000, autoLimitMs) : forMs;
}

function endOfGrant(now: Look): readonly [RenewalSample['outcome'], string] | undefined {
  switch (now.kind) {
    case 'same':
      return undefined;
    case 'gone':
      return ['gone', 'its node is gone'];
    case 'changed':
      return ['changed-hands', now.now];
    case 'refused':
      return ['not-applicable', now.reason];
  }
}

/** Packets received from the session so far, or why they cannot be counted. */
async function packetsOf(world: InspectWorld, sessionId: bigint): Promise<number | string> {
  const connections = await readConnections(world.target, world.timeoutMs);
  const packets = valueOf(connections)?.get(sessionId)?.packetsReceived;
  if (packets !== undefined) return packets;
  const why = connections.kind === 'known' ? 'no member shows its connection' : connections.reason;
  return `its session cannot be heard: ${why}`;
}

function counted(
  packets: number,
  elapsedMs: number,
  observations: readonly LeaseObservation[],
  neededMs: Known<number>,
): RenewalSample {
  const outcome = packets > 0 ? 'renewed' : 'not-renewed';
  const text =
    packets > 0
      ? note(packets, elapsedMs)
      : `no packet of its session in ${formatDuration(elapsedMs)}`;
  const sample = ended(outcome, elapsedMs, observations, text);
  return { ...sample, neededMs, renewals: known(packets) };
}

function note(packets: number, elapsedMs: number): string {
  return `its session sent ${packets} packets in ${formatDuration(elapsedMs)}: the client lives, which does not prove that its work does`;
}

/** Clients ping at a third of the timeout: two thirds of silence is a missed ping. */
function twoThirds(timeoutMs: Known<number>): Known<number> {
  return timeoutMs.kind === 'unknown'
    ? timeoutMs
    : { ...timeoutMs, value: Math.ceil((timeoutMs.value * 2) / 3) };
}

function ended(
  outcome: RenewalSample['outcome'],
  windowMs: number,
  observations: readonly LeaseObservation[],
  text: string,
): RenewalSample {
  const neededMs = unknown(text);
  return { windowMs, neededMs, observations, renewals: unknown(text), outcome, note: text };
}
