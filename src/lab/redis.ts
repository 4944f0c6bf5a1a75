/** A standalone Redis: its configuration and when it is ready. */
import { join } from 'node:path';
import type { LabPlan, LabSite } from './plan.ts';
import { findRedis, requireProgram } from './programs.ts';
import { askRedis } from './wire.ts';

/** Survives SIGKILL with its data (the page cache keeps what was written); no fsync is waited for. */
const defaults = { save: '', appendonly: 'yes', appendfsync: 'no' };

export async function planRedis(site: LabSite): Promise<LabPlan> {
  const program = requireProgram(findRedis(site.env), 'redis-server', 'redis');
  const port = await site.port();
  const home = join(site.folder, 'redis');
  const dataDir = join(home, 'data');
  const { options } = site.spec;
  const config = { ...defaults, ...options, bind: '127.0.0.1', port: String(port), dir: dataDir };
  const configFile = join(home, 'redis.conf');
  const password = options['requirepass'];
  return {
    target: `redis://127.0.0.1:${port}`,
    servers: [
      {
        name: 'redis',
        port,
        otherPorts: {},
        dataDir,
        logFile: join(home, 'log'),
        file: program.file,
        args: [configFile],
        env: program.env,
        files: {
          [configFile]: Object.entries(config)
            .map(([name, value]) => `${name} ${value === '' ? '""' : value}\n`)
            .join(''),
        },
        isReady: () => isReady(port, password),
      },
    ],
  };
}

/** While it loads its data Redis answers every command with LOADING. */
async function isReady(port: number, password: string | undefined): Promise<boolean> {
  const auth = password === undefined ? [] : [['AUTH', password]];
  const answer = await askRedis(port, [...auth, ['PING']]);
  return /^(\+PONG|-NOAUTH|-NOPERM)/m.test(answer);
}
