/** Links to the independent servers of a Redlock, asked all at once, each with a small deadline. */
import { TargetError, UsageError } from '../domain/errors.ts';
import { displayTarget } from '../domain/target.ts';
import { runScript, type ScriptReply } from './redis-client.ts';
import { serverLink, type LinkOptions, type RedisArgument, type ServerLink } from './redis-link.ts';

/** A server that is slow must not use up the lease while the others have answered. */
const deadlineShare = 3;

export class RedlockNodes {
  /** In the order of the target. The first keeps what must be in one place. */
  readonly links: readonly [ServerLink, ...ServerLink[]];

  constructor(links: readonly [ServerLink, ...ServerLink[]]) {
    this.links = links;
  }

  /** The least number of servers that no two holders can have at once. */
  get majority(): number {
    return Math.floor(this.links.length / 2) + 1;
  }

  /** One script on every server; the replies in the order of the servers. */
  script(
    script: string,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<readonly ScriptReply[]> {
    return Promise.all(this.links.map((link) => runScript(link, script, keys, args)));
  }

  close(): void {
    for (const link of this.links) link.close();
  }
}

/**
 * Connects to all servers of the target.
 * @throws {UsageError} `protocol-target` when the target is no `redlock://`
 * @throws {TargetError | PermissionError} when fewer than a majority can be reached
 */
export async function openRedlockNodes(options: LinkOptions): Promise<RedlockNodes> {
  const { target, requestTimeoutMs } = options;
  if (target.kind !== 'redlock') {
    throw new UsageError(`${displayTarget(target)} is not a set of independent Redis servers`, {
      code: 'protocol-target',
      hint: 'this protocol runs on redlock:// targets',
      definite: true,
    });
  }
  const each = { ...options, requestTimeoutMs: Math.ceil(requestTimeoutMs / deadlineShare) };
  const [first, ...rest] = target.endpoints;
  const nodes = new RedlockNodes([
    serverLink(each, first),
    ...rest.map((endpoint) => serverLink(each, endpoint)),
  ]);
  const failures = (await Promise.all(nodes.links.map((link) => link.open()))).flatMap(
    (failure) => failure ?? [],
  );
  const [failure] = failures;
  if (failure === undefined || nodes.links.length - failures.length >= nodes.majority) return nodes;
  nodes.close();
  if (failures.length === 1) throw failure;
  throw new TargetError(
    `${failures.length} of ${nodes.links.length} servers of ${displayTarget(target)} cannot be reached: ${failure.message}`,
    { code: 'target-unreachable', cause: failure, definite: true },
  );
}
