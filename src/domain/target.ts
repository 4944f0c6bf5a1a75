/** Targets: URLs that name a lock service, parsed without any client library. */
import { UsageError } from './errors.ts';

export type BackendKind =
  'redis' | 'redis-sentinel' | 'redis-cluster' | 'redlock' | 'etcd' | 'zookeeper';

/** A secret that no message, report, JSON or debugger line prints. */
export class Secret {
  readonly #value: string;
  constructor(value: string) {
    this.#value = value;
  }
  reveal(): string {
    return this.#value;
  }
  toString(): string {
    return '***';
  }
  toJSON(): string {
    return '***';
  }
}

export interface Endpoint {
  /** IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

export interface TlsOptions {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly serverName?: string;
}

export interface Target {
  readonly kind: BackendKind;
  readonly endpoints: readonly [Endpoint, ...Endpoint[]];
  readonly tls: TlsOptions | undefined;
  readonly username: string | undefined;
  readonly password: Secret | undefined;
  /** Redis: database number; Sentinel: primary name; ZooKeeper: chroot; etcd: empty. No leading slash. */
  readonly path: string;
  /** ZooKeeper: AdminServer ports, one for all members or one each in their order. Empty: 8080. */
  readonly adminPorts: readonly number[];
  /** Sentinel and Cluster: where an address that the servers announce is reached from here. */
  readonly natMap: readonly NatEntry[];
}

export interface NatEntry {
  readonly announced: Endpoint;
  readonly reachable: Endpoint;
}

/** Where an announced address is reached from here: as mapped, else as announced. */
export function reachableAt(target: Target, announced: Endpoint): Endpoint {
  const entry = target.natMap.find(
    (one) => one.announced.host === announced.host && one.announced.port === announced.port,
  );
  return entry?.reachable ?? announced;
}

const schemes: Readonly<Record<string, { kind: BackendKind; port: number; tls: boolean }>> = {
  redis: { kind: 'redis', port: 6379, tls: false },
  rediss: { kind: 'redis', port: 6379, tls: true },
  'redis+sentinel': { kind: 'redis-sentinel', port: 26379, tls: false },
  'rediss+sentinel': { kind: 'redis-sentinel', port: 26379, tls: true },
  'redis+cluster': { kind: 'redis-cluster', port: 6379, tls: false },
  'rediss+cluster': { kind: 'redis-cluster', port: 6379, tls: true },
  redlock: { kind: 'redlock', port: 6379, tls: false },
  'rediss+redlock': { kind: 'redlock', port: 6379, tls: true },
  etcd: { kind: 'etcd', port: 2379, tls: false },
  etcds: { kind: 'etcd', port: 2379, tls: true },
  zk: { kind: 'zookeeper', port: 2181, tls: false },
};

/** Lock tables of SQL servers: planned, so that they deserve a better answer than a typing error. */
const laterSchemes = /^(?:sql|postgres|postgresql|mysql|mariadb):/;

const tlsParams = {
  ca: 'caFile',
  cert: 'certFile',
  key: 'keyFile',
  servername: 'serverName',
} as const;

/**
 * Parses `scheme://[user[:password]@]host[:port][,host…][/path][?ca=FILE&cert=FILE&key=FILE&servername=NAME&admin=PORTS&nat=ANNOUNCED~REACHABLE]`.
 * An `@` behind the host must be written %40: unescaped it may end a password that holds a `/`,
 * and half a password would be taken for a port and a path, and be shown.
 * @throws {UsageError} `bad-target`, naming what is wrong; a password is never in the message
 */
export function parseTarget(url: string): Target {
  const { scheme, credentials, hosts, path, query } = splitUrl(url);
  const [username, password] = splitCredentials(credentials, url);
  const endpoints = parseEndpoints(hosts, scheme, url);
  const given = parseOptions(query, url);
  checkOptions(given, scheme, url);
  const { tls, adminPorts, natMap } = given;
  return {
    kind: scheme.kind,
    endpoints,
    tls: scheme.tls ? (tls ?? {}) : undefined,
    username,
    password,
    path: decode(path, url),
    adminPorts,
    natMap,
  };
}

interface UrlParts {
  readonly scheme: { readonly kind: BackendKind; readonly port: number; readonly tls: boolean };
  readonly credentials: string | undefined;
  readonly hosts: string;
  readonly path: string;
  readonly query: string;
}

function splitUrl(url: string): UrlParts {
  const [, name = '', rest] = /^([a-z_+]+):\/\/(.*)$/s.exec(url) ?? [];
  const scheme = new Map(Object.entries(schemes)).get(name);
  if (laterSchemes.test(url)) {
    throw new UsageError(`"${redactUrl(url)}": SQL targets are not supported yet`, {
      code: 'target-not-supported',
      hint: `nothing was asked; supported are ${Object.keys(schemes).join('://, ')}://`,
      definite: true,
    });
  }
  if (scheme === undefined || rest === undefined) {
    throw bad(
      `"${redactUrl(url)}" is not a target URL`,
      `use one of ${Object.keys(schemes).join('://, ')}://`,
    );
  }
  const match = /^(?:([^/?#]*)@)?([^/?#@]*)(?:\/([^?#@]*))?(?:\?([^#@]*))?$/.exec(rest);
  if (match === null) {
    throw bad(
      `"${redactUrl(url)}" has a character that must be escaped`,
      'in a user name or password write / ? # @ % as %2F %3F %23 %40 %25, behind the host # and @ as %23 and %40; or give the password by --password-file',
    );
  }
  const [, credentials, hosts = '', path = '', query = ''] = match;
  return { scheme, credentials, hosts, path, query };
}

function parseEndpoints(
  hosts: string,
  scheme: { readonly kind: BackendKind; readonly port: number },
  url: string,
): readonly [Endpoint, ...Endpoint[]] {
  const [first, ...rest] = hosts.split(',').map((host) => parseEndpoint(host, scheme.port, url));
  if (first === undefined || (rest.length > 0 && scheme.kind === 'redis')) {
    throw bad(
      `"${redactUrl(url)}" names several hosts`,
      'use redis+sentinel://, redis+cluster:// or redlock:// for several servers',
    );
  }
  return [first, ...rest];
}

interface UrlOptions {
  readonly tls: TlsOptions | undefined;
  readonly adminPorts: readonly number[];
  readonly natMap: readonly NatEntry[];
}

function parseOptions(query: string, url: string): UrlOptions {
  const tls: Record<string, string> = {};
  let adminPorts: readonly number[] = [];
  const natMap: NatEntry[] = [];
  for (const [name, value] of new URLSearchParams(query)) {
    const field = tlsParam(name);
    if (field !== undefined) tls[field] = value;
    else if (name === 'admin') adminPorts = value.split(',').map((port) => parsePort(port, url));
    else if (name === 'nat') natMap.push(parseNat(value, url));
    else {
      throw bad(
        `"${redactUrl(url)}" has an unknown option "${name}"`,
        `known options: ${[...Object.keys(tlsParams), 'admin', 'nat'].join(', ')}`,
      );
    }
  }
  return { tls: Object.keys(tls).length === 0 ? undefined : tls, adminPorts, natMap };
}

function parseNat(text: string, url: string): NatEntry {
  const [announced, reachable, ...more] = text.split('~');
  if (announced === undefined || reachable === undefined || more.length > 0) {
    throw bad(
      `"${redactUrl(url)}" has nat=${text}`,
      'write nat=10.0.0.1:6379~localhost:16379: the announced address, then the reachable one',
    );
  }
  const endpoint = (part: string): Endpoint => parseEndpoint(part, 6379, url);
  return { announced: endpoint(announced), reachable: endpoint(reachable) };
}

function checkOptions(
  { tls, natMap }: UrlOptions,
  scheme: { readonly kind: BackendKind; readonly tls: boolean },
  url: string,
): void {
  if (!scheme.tls && tls !== undefined) {
    throw bad(
      `"${redactUrl(url)}" has TLS options on a clear-text scheme`,
      'use the TLS form of the scheme, such as rediss:// or etcds://',
    );
  }
  if (natMap.length > 0 && scheme.kind !== 'redis-sentinel' && scheme.kind !== 'redis-cluster') {
    throw bad(
      `"${redactUrl(url)}" has nat= on a target that announces no addresses`,
      'nat= is for redis+sentinel:// and redis+cluster://',
    );
  }
}

function tlsParam(name: string): string | undefined {
  return new Map<string, string>(Object.entries(tlsParams)).get(name);
}

function parsePort(text: string, url: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535) {
    throw bad(`"${redactUrl(url)}" has port ${text}`, 'ports go from 1 to 65535');
  }
  return port;
}

function parseEndpoint(text: string, defaultPort: number, url: string): Endpoint {
  const match = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:[\]\s\p{C}]+))(?::(\d+))?$/u.exec(text);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined || host === '') {
    throw bad(
      `"${redactUrl(url)}" has no valid host`,
      'write host or host:port, IPv6 as [::1]:6379',
    );
  }
  const port = match?.[3] === undefined ? defaultPort : parsePort(match[3], url);
  return { host, port };
}

function splitCredentials(
  text: string | undefined,
  url: string,
): [string | undefined, Secret | undefined] {
  if (text === undefined || text === '') return [undefined, undefined];
  const colon = text.indexOf(':');
  const user = colon === -1 ? text : text.slice(0, colon);
  const password = colon === -1 ? undefined : new Secret(decode(text.slice(colon + 1), url));
  return [user === '' ? undefined : decode(user, ''), password];
}

function decode(text: string, url: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new UsageError(`"${redactUrl(url)}" has a broken %-escape`, {
      code: 'bad-target',
      hint: 'write % as %25',
      cause,
      definite: true,
    });
  }
}

function bad(message: string, hint: string): UsageError {
  return new UsageError(message, { code: 'bad-target', hint, definite: true });
}

/**
 * What may be printed of a URL that a person typed, well-formed or not: everything that could be
 * part of a password becomes `***`. The password may hold any character, so it reaches to the last
 * `@`; without one, what stands at the place of a port and is none may be half a password. Options
 * (`?password=…`) go too.
 */
export function redactUrl(url: string): string {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+_.-]*:\/\/)?(.*)$/is.exec(url) ?? [];
  const at = rest.lastIndexOf('@');
  const tail = rest
    .slice(at + 1)
    .replace(/([?#]).*/s, '$1***')
    .replace(/^(\[[^\]]*\]|[^:[\]/]*):(?!\d{0,5}(?:[,/?#]|$)).*/s, '$1:***');
  if (at === -1) return `${scheme}${tail}`;
  // Without a scheme the first word may be anything, also a password alone.
  const [, user = '', colon] = /^([^/?#@:]*)(:|$)/.exec(rest.slice(0, at)) ?? [];
  const safeUser = scheme === '' || colon === undefined ? '***' : user;
  return `${scheme}${safeUser}${colon === ':' ? ':***' : ''}@${tail}`;
}

const schemeOf: Readonly<Record<BackendKind, readonly [clear: string, tls: string]>> = {
  redis: ['redis', 'rediss'],
  'redis-sentinel': ['redis+sentinel', 'rediss+sentinel'],
  'redis-cluster': ['redis+cluster', 'rediss+cluster'],
  redlock: ['redlock', 'rediss+redlock'],
  etcd: ['etcd', 'etcds'],
  zookeeper: ['zk', 'zk'],
};

/**
 * A target as a URL for people: user name kept, password never, options left out. `parseTarget`
 * reads it back.
 */
export function displayTarget(target: Target): string {
  const [clear, tls] = schemeOf[target.kind];
  const user = target.username === undefined ? '' : `${encodeURIComponent(target.username)}@`;
  const path = target.path === '' ? '' : `/${encodePath(target.path)}`;
  const hosts = target.endpoints.map(displayEndpoint).join(',');
  return `${target.tls === undefined ? clear : tls}://${user}${hosts}${path}`;
}

/** `displayTarget` with its options: all of the target but its password. */
export function urlWithoutPassword(target: Target): string {
  const options = new URLSearchParams();
  for (const [name, field] of Object.entries(tlsParams)) {
    const value = target.tls?.[field];
    if (value !== undefined) options.set(name, value);
  }
  if (target.adminPorts.length > 0) options.set('admin', target.adminPorts.join(','));
  for (const { announced, reachable } of target.natMap) {
    options.append('nat', `${displayEndpoint(announced)}~${displayEndpoint(reachable)}`);
  }
  return options.size === 0
    ? displayTarget(target)
    : `${displayTarget(target)}?${options.toString()}`;
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

export function displayEndpoint(endpoint: Endpoint): string {
  const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host;
  return `${host}:${endpoint.port}`;
}
