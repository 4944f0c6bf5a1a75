/** The results of a release that did not go through, each with what the server answered. */
import type { FencepostError } from '../../domain/errors.ts';
import type { ReleaseResult } from '../../domain/release.ts';

export const nothingSent = 'nothing was sent';

export type Refusal = ReleaseResult & { readonly outcome: 'refused' };

/** Nothing was deleted, and this is why. */
export function refusal(reason: string, { remedy }: { readonly remedy?: string }): Refusal {
  return {
    outcome: 'refused',
    reason,
    ...(remedy === undefined ? {} : { remedy }),
    reply: nothingSent,
    fenceRaisedTo: undefined,
  };
}

export function gone(reply: string): ReleaseResult {
  return { outcome: 'already-gone', reply, fenceRaisedTo: undefined };
}

export function changed(now: string, reply: string): ReleaseResult {
  return { outcome: 'changed-hands', now, reply, fenceRaisedTo: undefined };
}

/** Whether it took effect is not known. */
export function lost(reason: string, error: FencepostError): ReleaseResult {
  return { outcome: 'unknown', reason, reply: error.message, fenceRaisedTo: undefined };
}
