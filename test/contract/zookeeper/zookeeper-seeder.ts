/** Takes, ends and steals ZooKeeper locks by a raw client, and other raw access for ZooKeeper tests. */
import { createHash, randomUUID } from 'node:crypto';
import zookeeper, { type Client } from 'node-zookeeper-client';
import type { Backend } from '../../../src/backends/backend.ts';
import { openBackend } from '../../../src/backends/registry.ts';
import { parseTarget } from '../../../src/domain/target.ts';
import { parseText, stringToText, textToBytes, type Text } from '../../../src/domain/text.ts';
import type { SeededGrant, Seeder } from '../backend/subject.ts';

const testOptions = {
  connectTimeoutMs: 1_500,
  requestTimeoutMs: 5_000,
  clientName: 'fencepost-test',
};

export function openTarget(url: string): Promise<Backend> {
  return openBackend(parseTarget(url), testOptions);
}

/** Everything for this digest user, and reading for everybody or nobody else. */
export function aclOf(auth: string, others: 'world-reads' | 'nobody'): readonly zookeeper.ACL[] {
  const [user = ''] = auth.split(':');
  const digest = createHash('sha1').update(auth).digest('base64');
  const { ACL, Id, Permission } = zookeeper;
  const own = new ACL(Permission.ALL, new Id('digest', `${user}:${digest}`));
  return others === 'nobody' ? [own] : [own, new ACL(Permission.READ, new Id('world', 'anyone'))];
}

const openToAll = [
  new zookeeper.ACL(zookeeper.Permission.ALL, new zookeeper.Id('world', 'anyone')),
];

const modes = { persistent: 0, ephemeral: 1, sequential: 2, 'ephemeral-sequential': 3 } as const;

export interface RawOptions {
  /** `user:password` for digest. */
  readonly auth?: string;
  /** Of everything that is created. Default: open to everybody. */
  readonly acl?: readonly zookeeper.ACL[];
  readonly sessionTimeoutMs?: number;
}

/** A session of the client library itself, with promises. */
export class RawZooKeeper {
  readonly client: Client;
  readonly #acl: zookeeper.ACL[];

  private constructor(client: Client, acl: readonly zookeeper.ACL[]) {
    this.client = client;
    this.#acl = [...acl];
  }

  static async open(url: string, options: RawOptions = {}): Promise<RawZooKeeper> {
    const { endpoints } = parseTarget(url);
    const hosts = endpoints.map(({ host, port }) => `${host}:${port}`).join(',');
    const client = zookeeper.createClient(hosts, {
      sessionTimeout: options.sessionTimeoutMs ?? 30_000,
    });
    if (options.auth !== undefined) client.addAuthInfo('digest', Buffer.from(options.auth));
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`no ZooKeeper session at ${hosts}`));
      }, 20_000);
      client.once('connected', () => {
        clearTimeout(timer);
        resolve();
      });
      client.connect();
    });
    return new RawZooKeeper(client, options.acl ?? openToAll);
  }

  /** Creates a node and returns its path. */
  create(path: string, data: string, mode: keyof typeof modes = 'persistent'): Promise<string> {
    return ask((done) => {
      this.client.create(path, Buffer.from(data), this.#acl, modes[mode], done);
    });
  }

  /** Persistent nodes down to `path`; those that are there stay. */
  async makePath(path: string): Promise<void> {
    const names = path.split('/').slice(1);
    for (let depth = 1; depth <= names.length; depth += 1) {
      await this.create(`/${names.slice(0, depth).join('/')}`, '').catch(ignoreIfThere);
    }
  }

  remove(path: string, version = -1): Promise<void> {
    return ask((done) => {
      this.client.remove(path, version, (error) => {
        done(error, undefined);
      });
    });
  }

  /** The node and everything below it; what vanishes meanwhile is no failure. */
  async removeTree(path: string): Promise<void> {
    const children = await this.children(path).catch(undefinedIfGone);
    for (const name of children ?? []) await this.removeTree(`${path === '/' ? '' : path}/${name}`);
    if (path !== '/') await this.remove(path).catch(undefinedIfGone);
  }

  /** Everything but ZooKeeper's own nodes. */
  async removeAll(): Promise<void> {
    for (const name of await this.children('/')) {
      if (name !== 'zookeeper') await this.removeTree(`/${name}`);
    }
  }

  /** Names, in no order. */
  children(path: string): Promise<string[]> {
    return ask((done) => {
      this.client.getChildren(path, (error, children) => {
        done(error, children);
      });
    });
  }

  /** Watches the node's data and its end, as waiters do with their predecessor. */
  watch(path: string): Promise<void> {
    return ask((done) => {
      this.client.exists(path, ignoreEvent, (error) => {
        done(error, undefined);
      });
    });
  }

  /** Runs a transaction of the client library. Mind that it sends any version for version 0. */
  commit(build: (transaction: zookeeper.Transaction) => zookeeper.Transaction): Promise<void> {
    return ask((done) => {
      build(this.client.transaction()).commit((error) => {
        done(error, undefined);
      });
    });
  }

  setData(path: string, data: string): Promise<void> {
    return ask((done) => {
      this.client.setData(path, Buffer.from(data), (error) => {
        done(error, undefined);
      });
    });
  }

  /** Undefined when there is no such node. */
  read(path: string): Promise<{ data: string; czxid: bigint; version: number } | undefined> {
    return ask<{ data: string; czxid: bigint; version: number }>((done) => {
      this.client.getData(path, (error, data, stat) => {
        done(error, {
          data: (data as Buffer | undefined)?.toString('utf8') ?? '',
          czxid: (stat as { czxid: Buffer } | undefined)?.czxid.readBigInt64BE() ?? 0n,
          version: (stat as { version: number } | undefined)?.version ?? 0,
        });
      });
    }).catch(undefinedIfGone);
  }

  get sessionId(): bigint {
    return this.client.getSessionId().readBigUInt64BE();
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.client.once('disconnected', resolve);
      this.client.close();
    });
  }
}

type Failure = Error | zookeeper.Exception | null | undefined;

function ask<T>(send: (done: (error: Failure, value: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    send((error, value) => {
      if (error === null || error === undefined) resolve(value);
      else reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
}

function ignoreEvent(): void {
  // Only that the server has the watch matters.
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

/** Whether it was done; false when the server said that the node is there, gone or of another version. */
export async function attempt(work: Promise<unknown>): Promise<boolean> {
  const { NODE_EXISTS, NO_NODE, BAD_VERSION } = zookeeper.Exception;
  try {
    await work;
    return true;
  } catch (error) {
    if ([NODE_EXISTS, NO_NODE, BAD_VERSION].some((code) => code === codeOf(error))) return false;
    throw error;
  }
}

function ignoreIfThere(error: unknown): string {
  if (codeOf(error) === zookeeper.Exception.NODE_EXISTS) return '';
  throw error;
}

function undefinedIfGone(error: unknown): undefined {
  if (codeOf(error) === zookeeper.Exception.NO_NODE) return undefined;
  throw error;
}

interface QueuedGrant extends SeededGrant {
  /** The contender's own node. */
  readonly path: string;
  readonly czxid: bigint;
}

/** Contenders of one queue under a parent; `guid` as Curator names them, else `lock-` and a number. */
export async function queueSeeder(
  url: string,
  names: 'guid' | 'plain',
  options: RawOptions = {},
): Promise<Seeder> {
  const raw = await RawZooKeeper.open(url, options);
  const taken = new Map<SeededGrant, QueuedGrant>();
  const pathOf = (name: Text): string => new TextDecoder().decode(textToBytes(name));
  const of = (grant: SeededGrant): QueuedGrant => {
    const found = taken.get(grant);
    if (found === undefined) throw new Error('not a grant of this seeder');
    return found;
  };
  const take = async (name: Text, owner: string): Promise<SeededGrant> => {
    const parent = pathOf(name);
    await raw.makePath(parent);
    const prefix = names === 'guid' ? `_c_${randomUUID()}-lock-` : 'lock-';
    const path = await raw.create(`${parent}/${prefix}`, owner, 'ephemeral-sequential');
    const czxid = (await raw.read(path))?.czxid ?? 0n;
    const grant = { ref: { name }, owner: stringToText(owner), path, czxid };
    taken.set(grant, grant);
    return grant;
  };
  return {
    name: (word) => parseText(`/contract/${names}/${word}`),
    take,
    async renew(grant) {
      await raw.read(of(grant).path);
    },
    async steal(grant, owner) {
      await raw.remove(of(grant).path);
      return take(grant.ref.name, owner);
    },
    end: (grant) => raw.remove(of(grant).path),
    async isThere(grant) {
      return (await raw.read(of(grant).path))?.czxid === of(grant).czxid;
    },
    async other(name) {
      await raw.makePath(`/contract/${names}`);
      await raw.create(pathOf(name), '{"price":3}');
    },
    close: () => raw.close(),
  };
}
