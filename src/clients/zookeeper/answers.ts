/** Error numbers in a server's answers as errors of our own: whoever answers did not do it. */
import { FencepostError, TargetError } from '../../domain/errors.ts';
import { displayTarget, type Target } from '../../domain/target.ts';
import { toFencepostError, zooKeeperCodes } from './errors.ts';

/** @see apache/zookeeper KeeperException.Code; the ones that a lock client can meet */
const names: Readonly<Record<number, string>> = {
  [-5]: 'MARSHALLING_ERROR',
  [-6]: 'UNIMPLEMENTED',
  [-8]: 'BAD_ARGUMENTS',
  [-101]: 'NO_NODE',
  [-102]: 'NO_AUTH',
  [-103]: 'BAD_VERSION',
  [-108]: 'NO_CHILDREN_FOR_EPHEMERALS',
  [-110]: 'NODE_EXISTS',
  [-111]: 'NOT_EMPTY',
  [-114]: 'INVALID_ACL',
  [-115]: 'AUTH_FAILED',
  [-118]: 'SESSION_MOVED',
};

/** Codes of answers, and of sessions that were never opened: the request surely had no effect. */
export const definiteCodes: readonly string[] = [
  ...Object.values(names).map((name) => `zookeeper-${name.toLowerCase().replaceAll('_', '-')}`),
  'session-expired',
  'target-unreachable',
  'target-not-serving',
];

/** A number that is not in the list (`-7`, operation timeout) does not say that nothing happened. */
export function answerError(number: number, path: string, target: Target): FencepostError {
  if (number === zooKeeperCodes.sessionExpired) return sessionExpired(target);
  const name = names[number];
  if (name !== undefined) return toFencepostError({ code: number, name }, path, target, 'sent');
  return new TargetError(`${displayTarget(target)} answered with error ${number}`, {
    code: 'server-error',
    hint: 'see the log of that member',
  });
}

/** The session is over, and with it its ephemeral nodes: nothing can be done in its name. */
export function sessionExpired(target: Target): TargetError {
  return new TargetError(`the session on ${displayTarget(target)} has expired`, {
    code: 'session-expired',
    hint: 'its ephemeral nodes are gone: take the lock again',
    definite: true,
  });
}

export function isSessionExpired(error: unknown): boolean {
  return error instanceof FencepostError && error.code === 'session-expired';
}

/** The connection broke, or no member takes us at the moment: the session may live on. */
export function isConnectionLost(error: unknown): boolean {
  return error instanceof TargetError && !isSessionExpired(error);
}
