/** One redis-server of a lab, whatever its part: configuration, readiness, and how it is asked. */
import { join } from 'node:path';
import type { LabSite, ServerPlan } from './plan.ts';
import { findRedis, requireProgram } from './programs.ts';
import { askRedis } from './wire.ts';

/** One line of a configuration: a name may occur several times. */
export type Directive = readonly [name: string, value: string];

export interface RedisPart {
  readonly name: string;
  readonly port: number;
  readonly otherPorts?: Readonly<Record<string, number>>;
  /** Beside bind, port and TLS. A sentinel has no data directory of its own. */
  readonly directives: readonly Directive[];
  readonly sentinel?: boolean;
}

/** Survives SIGKILL with its data (the page cache keeps what was written); no fsync is waited for. */
const dataDefaults = {
  save: '',
  appendonly: 'yes',
  appendfsync: 'no',
  'repl-diskless-sync-delay': '0',
};

/** Configuration of a server that holds data: the lab's defaults, then the person's options. */
export function dataDirectives({ spec }: LabSite): readonly Directive[] {
  const password = spec.options['requirepass'];
  return [
    ...Object.entries({ ...dataDefaults, ...spec.options }),
    // A replica signs on as the default user.
    ...(password === undefined ? [] : [['masterauth', password] as const]),
  ];
}

export function planRedisServer(site: LabSite, part: RedisPart): ServerPlan {
  const program = requireProgram(findRedis(site.env), 'redis-server', 'redis');
  const home = join(site.folder, part.name);
  const dataDir = join(home, 'data');
  const configFile = join(home, 'redis.conf');
  const directives: readonly Directive[] = [
    ['bind', '127.0.0.1'],
    ...portDirectives(site, part.port),
    ['dir', dataDir],
    ...part.directives,
  ];
  return {
    name: part.name,
    port: part.port,
    otherPorts: part.otherPorts ?? {},
    dataDir,
    logFile: join(home, 'log'),
    file: program.file,
    args: part.sentinel === true ? [configFile, '--sentinel'] : [configFile],
    env: program.env,
    files: {
      [configFile]: directives
        .map(([name, value]) => `${name} ${value === '' ? '""' : value}\n`)
        .join(''),
    },
    isReady: async () => /^(\+PONG|-NOAUTH|-NOPERM)/m.test(await ask(site, part.port, [['PING']])),
  };
}

function portDirectives({ tls }: LabSite, port: number): readonly Directive[] {
  if (tls === undefined) return [['port', String(port)]];
  return [
    ['port', '0'],
    ['tls-port', String(port)],
    ['tls-ca-cert-file', tls.caFile],
    ['tls-cert-file', tls.certFile],
    ['tls-key-file', tls.keyFile],
    ['tls-auth-clients', 'optional'],
    ['tls-replication', 'yes'],
  ];
}

/**
 * Sends commands, signed on where the lab has a password; returns the raw replies. While a server
 * loads its data it answers everything with LOADING.
 */
export function ask(
  { spec, tls }: LabSite,
  port: number,
  commands: readonly (readonly string[])[],
): Promise<string> {
  const password = spec.options['requirepass'];
  const auth = password === undefined ? [] : [['AUTH', password]];
  return askRedis(port, [...auth, ...commands], tls !== undefined);
}

/** Whether the account of the lab is not let in: then nothing can be asked, and nothing waited for. */
export function isLockedOut(answer: string): boolean {
  return /^-(NOAUTH|NOPERM|WRONGPASS)/m.test(answer);
}

/** `scheme://127.0.0.1:port,…/path?ca=…`, by which clients reach the lab. */
export function labUrl(
  { tls }: LabSite,
  [clear, secured]: readonly [clear: string, secured: string],
  ports: readonly number[],
  path = '',
): string {
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
  if (tls === undefined) return `${clear}://${hosts}${path}`;
  return `${secured}://${hosts}${path}?ca=${encodeURIComponent(tls.caFile)}`;
}
