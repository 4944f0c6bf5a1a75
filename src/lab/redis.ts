/** One Redis, a primary with two replicas, or independent ones for Redlock. */
import type { LabPlan, LabSite, ServerPlan } from './plan.ts';
import { ask, dataDirectives, isLockedOut, labUrl, planRedisServer } from './redis-server.ts';

export async function planRedis(site: LabSite): Promise<LabPlan> {
  const { servers, isTogether, port } = await planReplicated(site, site.spec.members - 1);
  return { target: labUrl(site, ['redis', 'rediss'], [port]), servers, isTogether };
}

/** Servers that know nothing of each other. */
export async function planRedlock(site: LabSite): Promise<LabPlan> {
  const servers: ServerPlan[] = [];
  for (let number = 1; number <= site.spec.members; number += 1) {
    const port = await site.port();
    servers.push(
      planRedisServer(site, { name: `redis-${number}`, port, directives: dataDirectives(site) }),
    );
  }
  const ports = servers.map(({ port }) => port);
  return { target: labUrl(site, ['redlock', 'rediss+redlock'], ports), servers };
}

/** A primary named `redis`, and its replicas. */
export async function planReplicated(
  site: LabSite,
  replicas: number,
): Promise<{
  readonly port: number;
  readonly servers: readonly ServerPlan[];
  readonly isTogether: () => Promise<boolean>;
}> {
  const port = await site.port();
  const directives = dataDirectives(site);
  const servers = [planRedisServer(site, { name: 'redis', port, directives })];
  for (let number = 1; number <= replicas; number += 1) {
    servers.push(
      planRedisServer(site, {
        name: `replica-${number}`,
        port: await site.port(),
        directives: [...directives, ['replicaof', `127.0.0.1 ${port}`]],
      }),
    );
  }
  return { port, servers, isTogether: () => confirm(site, port, replicas) };
}

/** Longest that replicas may take to confirm, before they are asked anew. */
const confirmWithinMs = 500;

/**
 * Whether every replica has confirmed something of its primary. That a replica is online is not
 * enough: the first that it is sent it may get late, and a WAIT right then would find too few.
 */
async function confirm(site: LabSite, port: number, replicas: number): Promise<boolean> {
  if (replicas === 0) return true;
  const answer = await ask(site, port, [
    // Goes to the replicas, and leaves no key.
    ['PUBLISH', 'fencepost-lab', 'together'],
    ['WAIT', String(replicas), String(confirmWithinMs)],
  ]);
  return isLockedOut(answer) || answer.endsWith(`:${replicas}\r\n`);
}
