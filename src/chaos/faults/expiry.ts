/**
 * Expiry of a lease: nothing is injected, time does it. What must be proven is that the record
 * really was there, and that it went by the server's own clock and not because somebody deleted it.
 */
import type { Evidence } from '../../domain/evidence.ts';
import type { ObservedEnd } from '../../protocols/protocol.ts';
import type { SeenHold } from '../lock-watch.ts';

/** @param holder worker whose hold was waited out */
export function expiryEvidence(
  holder: string,
  hold: SeenHold | undefined,
  end: ObservedEnd | undefined,
  atNs: bigint,
): readonly Evidence[] {
  const left = hold?.ttlMs === undefined ? '' : `, ${hold.ttlMs} ms left at the last look`;
  return [
    {
      source: 'observer connection',
      atNs,
      fact: hold === undefined ? 'no record was ever seen' : `record of ${hold.owner} seen${left}`,
      proves: `${holder} held the lock`,
      holds: hold !== undefined,
    },
    {
      source: 'lock service',
      atNs,
      fact: end === undefined ? 'how it ended was not seen' : `${end.cause}: ${end.witness}`,
      proves: `the lease of ${holder} ran out, nobody removed it`,
      holds: end?.cause === 'expired' || end?.cause === 'session-ended',
    },
  ];
}
