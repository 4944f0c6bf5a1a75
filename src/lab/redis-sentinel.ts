/** A primary with two replicas, watched by three sentinels. */
import type { LabPlan, LabSite, ServerPlan } from './plan.ts';
import { ask, isLockedOut, labUrl, planRedisServer, type Directive } from './redis-server.ts';
import { planReplicated } from './redis.ts';

const primaryName = 'mymaster';
const sentinels = 3;
const replicas = 2;

export async function planRedisSentinel(site: LabSite): Promise<LabPlan> {
  const data = await planReplicated(site, replicas);
  const watchers: ServerPlan[] = [];
  for (let number = 1; number <= sentinels; number += 1) {
    watchers.push(
      planRedisServer(site, {
        name: `sentinel-${number}`,
        port: await site.port(),
        directives: sentinelDirectives(site, data.port),
        sentinel: true,
      }),
    );
  }
  const ports = watchers.map(({ port }) => port);
  return {
    target: labUrl(site, ['redis+sentinel', 'rediss+sentinel'], ports, `/${primaryName}`),
    servers: [...data.servers, ...watchers],
    isTogether: async () => {
      if (!(await data.isTogether())) return false;
      const seen = await Promise.all(
        ports.map((port) => ask(site, port, [['SENTINEL', 'MASTER', primaryName]])),
      );
      return seen.every((answer) => isLockedOut(answer) || isComplete(answer));
    },
  };
}

/** Quick to notice: a lab's servers are on this very machine. */
function sentinelDirectives({ spec }: LabSite, port: number): readonly Directive[] {
  const password = spec.options['requirepass'];
  const user = spec.options['user'];
  return [
    ['sentinel', `monitor ${primaryName} 127.0.0.1 ${port} 2`],
    ['sentinel', `down-after-milliseconds ${primaryName} 1000`],
    ['sentinel', `failover-timeout ${primaryName} 4000`],
    ...(user === undefined ? [] : [['user', user] as const]),
    ...(password === undefined
      ? []
      : ([
          ['sentinel', `auth-pass ${primaryName} ${password}`],
          ['sentinel', `sentinel-pass ${password}`],
          ['requirepass', password],
        ] as const)),
  ];
}

/** The reply is a list of names and values, each on a line of its own. */
function isComplete(answer: string): boolean {
  const field = (name: string): string | undefined =>
    new RegExp(`\\r\\n${name}\\r\\n\\$\\d+\\r\\n([^\\r]*)`).exec(answer)?.[1];
  return (
    field('flags') === 'master' &&
    field('num-slaves') === String(replicas) &&
    field('num-other-sentinels') === String(sentinels - 1)
  );
}
