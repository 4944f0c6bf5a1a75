/**
 * What a time-based UUID (version 1) tells besides being unique: the moment it was made, by its
 * maker's clock, and the network address of the machine.
 * @see RFC 9562, section 5.1
 */
import type { OwnerPlace } from '../domain/holder.ts';
import { known, unknown, type Known } from '../domain/known.ts';
import { stringToText } from '../domain/text.ts';

/** Its clock starts on 15 October 1582 and counts steps of 100 ns. */
const epochMs = Date.UTC(1582, 9, 15);
const stepsPerMs = 10_000n;

/**
 * 32 hex digits of a time-based UUID made between 2011 and 2039: version, variant and the upper bits
 * of the time. One of 8192 random values looks like one, instead of one of 64 without the time.
 */
export const timeUuidHex = /^[0-9a-f]{12}11[ef][0-9a-f][89ab][0-9a-f]{15}$/;

/** When it was made, in epoch ms; undefined: it is none. */
export function madeAtMs(hex: string): number | undefined {
  if (!timeUuidHex.test(hex)) return undefined;
  const steps = BigInt(`0x${hex.slice(13, 16)}${hex.slice(8, 12)}${hex.slice(0, 8)}`);
  return epochMs + Number(steps / stepsPerMs);
}

/** The machine, where the maker of the 32 digits found a network address: else there are random bits. */
export function machineOf(hex: string): Known<OwnerPlace> {
  if (!/^[0-9a-f]{32}$/.test(hex)) return unknown('the owner value is no UUID');
  const node = hex.slice(20).match(/[0-9a-f]{2}/g) ?? [];
  if ((Number.parseInt(node[0] ?? '1', 16) & 1) === 1) {
    return unknown('the UUID carries no network address');
  }
  return known({ host: stringToText(`MAC ${node.join(':')}`), source: 'value (UUID)' });
}
