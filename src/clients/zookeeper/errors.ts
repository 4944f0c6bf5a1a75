/** Turns what node-zookeeper-client reports into fencepost errors, and says what surely did not happen. */
import { FencepostError, Interrupted, PermissionError, TargetError } from '../../domain/errors.ts';
import { displayTarget, type Target } from '../../domain/target.ts';
import { stringToText } from '../../domain/text.ts';

/** ZooKeeper's error numbers that the adapter decides by. */
export const zooKeeperCodes = {
  connectionLoss: -4,
  noNode: -101,
  noAuth: -102,
  badVersion: -103,
  nodeExists: -110,
  notEmpty: -111,
  sessionExpired: -112,
} as const;

/** The server answered with an error number: the request surely had no effect. */
export class NodeError extends FencepostError {
  readonly number: number;

  constructor(number: number, name: string, path: string) {
    super(`${name} at ${stringToText(path)}`, {
      code: `zookeeper-${name.toLowerCase().replaceAll('_', '-')}`,
      definite: true,
    });
    this.number = number;
  }
}

/** Whether the server answered with exactly this error number. */
export function isNodeError(error: unknown, number: number): boolean {
  return error instanceof NodeError && error.number === number;
}

/** The user gave up before anything was sent. */
export function interrupted(): Interrupted {
  return new Interrupted('interrupted', { code: 'interrupted', definite: true });
}

/** `not-sent`: the request never left, so it surely had no effect. */
export function toFencepostError(
  cause: unknown,
  path: string,
  target: Target,
  how: 'sent' | 'not-sent',
): FencepostError {
  const number = numberOf(cause);
  if (number === zooKeeperCodes.noAuth) return refused(path, target);
  const lost = number === zooKeeperCodes.connectionLoss || number === zooKeeperCodes.sessionExpired;
  if (number !== undefined && !lost) return new NodeError(number, nameOf(cause), path);
  const what = typeof cause === 'string' ? cause : lost ? 'connection lost' : String(cause);
  return new TargetError(
    `${displayTarget(target)}: ${stringToText(what)} (${stringToText(path)})`,
    {
      code: 'target-lost',
      hint: 'try again; look at the ensemble’s health with `srvr` on each member',
      cause,
      definite: how === 'not-sent',
    },
  );
}

/** Whether the node's ACL refused this identity. */
export function isRefused(error: unknown): boolean {
  return error instanceof PermissionError && error.code === 'zookeeper-no-auth';
}

function refused(path: string, target: Target): PermissionError {
  return new PermissionError(`not allowed at ${stringToText(path)} on ${displayTarget(target)}`, {
    code: 'zookeeper-no-auth',
    hint: 'the node’s ACL refuses this identity: give user and password in the target',
    definite: true,
  });
}

function numberOf(cause: unknown): number | undefined {
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return undefined;
  return typeof cause.code === 'number' ? cause.code : undefined;
}

function nameOf(cause: unknown): string {
  if (typeof cause !== 'object' || cause === null || !('name' in cause)) return 'ERROR';
  return typeof cause.name === 'string' ? cause.name : 'ERROR';
}
