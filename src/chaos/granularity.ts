/** Bounds as a protocol can keep them: a lease may end later than asked, by the server's granularity. */
import type { InvariantSpec } from '../domain/scenario.ts';
import type { LockProtocol } from '../protocols/protocol.ts';

/** The invariants, each bound longer by the granularity for every lease in it. */
export function withGranularity(
  specs: readonly InvariantSpec[],
  { expiryGranularityMs }: Pick<LockProtocol, 'expiryGranularityMs'>,
): readonly InvariantSpec[] {
  return specs.map((spec) => {
    if (spec.within === undefined) return spec;
    const { leaseFactor, addMs } = spec.within;
    return { ...spec, within: { leaseFactor, addMs: addMs + leaseFactor * expiryGranularityMs } };
  });
}
