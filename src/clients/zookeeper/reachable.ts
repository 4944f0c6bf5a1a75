/** Which members accept TCP, and why the others do not: the client reports no reason and never gives up. */
import { connect } from 'node:net';
import { TargetError } from '../../domain/errors.ts';
import { displayEndpoint, displayTarget, type Endpoint, type Target } from '../../domain/target.ts';

/**
 * Tries every member at once.
 * @returns `host:port` of those that accept
 * @throws {TargetError} when none does, with the first one's reason
 */
export async function reachableEndpoints(
  target: Target,
  timeoutMs: number,
): Promise<readonly string[]> {
  const tries = await Promise.all(
    target.endpoints.map(async (endpoint) => ({
      endpoint,
      refusal: await tryEndpoint(endpoint, timeoutMs),
    })),
  );
  const accepting = tries.filter((one) => one.refusal === undefined);
  if (accepting.length === 0) {
    throw new TargetError(`cannot reach ${displayTarget(target)}: ${tries[0]?.refusal ?? ''}`, {
      code: 'target-unreachable',
      hint: 'is the ensemble up, and are these the client ports? `fencepost lab up zookeeper` starts a throwaway one',
      definite: true,
    });
  }
  return accepting.map(({ endpoint }) => `${endpoint.host}:${endpoint.port}`);
}

/** @returns the reason for a refusal, or undefined when the member accepts */
function tryEndpoint(endpoint: Endpoint, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: endpoint.host, port: endpoint.port });
    const end = (refusal: string | undefined): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(refusal);
    };
    const timer = setTimeout(() => {
      end(`${displayEndpoint(endpoint)} did not answer within ${timeoutMs} ms`);
    }, timeoutMs);
    socket.on('connect', () => {
      end(undefined);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      end(error.code === 'ECONNREFUSED' ? 'connection refused' : (error.code ?? error.message));
    });
  });
}
