/** A service's failure as the outcome of an operation: it surely did nothing, or nobody knows. */
import { FencepostError } from '../domain/errors.ts';
import type { Reply } from './protocol.ts';

/**
 * @param definiteCodes of the service: the request surely had no effect
 * @throws whatever is no FencepostError
 */
export function failureOf(error: unknown, definiteCodes: readonly string[]): Reply<never> {
  if (!(error instanceof FencepostError)) throw error;
  const outcome = error.definite && definiteCodes.includes(error.code) ? 'fail' : 'unknown';
  return { outcome, code: error.code, detail: error.message };
}

/** The record is gone, or another's. */
export function notOwner(detail?: string): Reply<never> {
  return { outcome: 'fail', code: 'not-owner', ...(detail === undefined ? {} : { detail }) };
}
