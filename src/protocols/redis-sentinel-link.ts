/**
 * A link to the primary that the sentinels name. A request that finds it gone or demoted makes the
 * next one ask the sentinels again; nothing is ever sent twice.
 */
import { PermissionError, TargetError } from '../domain/errors.ts';
import {
  displayEndpoint,
  displayTarget,
  reachableAt,
  type Endpoint,
  type Target,
} from '../domain/target.ts';
import { stringToText } from '../domain/text.ts';
import type { Reply } from './protocol.ts';
import {
  isElsewhere,
  isUnreached,
  items,
  serverLink,
  type Command,
  type LinkOptions,
  type NamedServer,
  type RedisLink,
  type RedisSender,
  type RedisValue,
  type ServerLink,
} from './redis-link.ts';

/** @throws {TargetError | PermissionError} when no sentinel names a primary that can be reached */
export async function openSentinelLink(options: LinkOptions): Promise<RedisLink> {
  const { target } = options;
  const sentinels = await Promise.all(
    target.endpoints.map((endpoint) => openSentinel(options, endpoint)),
  );
  const link = new SentinelLink(options, sentinels);
  const failure = await link.open();
  if (failure === undefined) return link;
  link.close();
  throw failure;
}

/** The account is one of the servers; a sentinel has users of its own, or none at all. */
async function openSentinel(options: LinkOptions, endpoint: Endpoint): Promise<ServerLink> {
  const target: Target = { ...options.target, path: '' };
  const link = serverLink({ ...options, target }, endpoint);
  if (!((await link.open()) instanceof PermissionError)) return link;
  link.close();
  const open = { ...target, username: undefined, password: undefined };
  return serverLink({ ...options, target: open }, endpoint);
}

class SentinelLink implements RedisLink {
  readonly #options: LinkOptions;
  readonly #sentinels: readonly ServerLink[];
  readonly #known = new Map<string, ServerLink>();
  #primary: Promise<ServerLink | undefined> | undefined;

  constructor(options: LinkOptions, sentinels: readonly ServerLink[]) {
    this.#options = options;
    this.#sentinels = sentinels;
  }

  async open(): Promise<TargetError | PermissionError | undefined> {
    const primary = await this.#find();
    return primary === undefined ? this.#noPrimary() : primary.open();
  }

  /** A primary that cannot be reached got nothing: then the sentinels are asked once more. */
  async send(...command: Command): Promise<Reply<{ value: RedisValue }>> {
    const reply = await this.#sendOnce(command);
    return isUnreached(reply) ? this.#sendOnce(command) : reply;
  }

  async #sendOnce(command: Command): Promise<Reply<{ value: RedisValue }>> {
    const primary = await this.#find();
    if (primary === undefined) return notSent(this.#noPrimary().message);
    return this.#judged(await primary.send(...command));
  }

  async pin(key: string): Promise<Pick<RedisSender, 'send'>> {
    let primary = await this.#find();
    if ((await primary?.open()) !== undefined) {
      this.#primary = undefined;
      primary = await this.#find();
    }
    if (primary === undefined) {
      const { message } = this.#noPrimary();
      return { send: () => Promise.resolve(notSent(message)) };
    }
    const pinned = await primary.pin(key);
    return { send: async (...command) => this.#judged(await pinned.send(...command)) };
  }

  async primaries(): Promise<readonly RedisSender[]> {
    const primary = await this.#find();
    if (primary === undefined) throw this.#noPrimary();
    return [primary];
  }

  async servers(): Promise<readonly NamedServer[]> {
    return [...this.#sentinels, ...(await this.announced()).map((one) => this.#at(one))];
  }

  async announced(): Promise<readonly Endpoint[]> {
    const replies = await Promise.all(
      this.#sentinels.map((sentinel) =>
        sentinel.send('SENTINEL', 'REPLICAS', this.#options.target.path),
      ),
    );
    const replicas = replies.flatMap((reply) =>
      reply.outcome === 'ok' ? items(reply.value).map((one) => fieldsOf(items(one))) : [],
    );
    const primary = await this.#named();
    const all = primary === undefined ? replicas : [primary, ...replicas];
    return [...new Map(all.map((one) => [displayEndpoint(one), one])).values()];
  }

  close(): void {
    for (const link of [...this.#sentinels, ...this.#known.values()]) link.close();
  }

  #judged<T extends Reply<object>>(reply: T): T {
    if (isElsewhere(reply)) this.#primary = undefined;
    return reply;
  }

  #find(): Promise<ServerLink | undefined> {
    this.#primary ??= this.#named().then((named) => {
      if (named === undefined) this.#primary = undefined;
      return named === undefined ? undefined : this.#at(named);
    });
    return this.#primary;
  }

  /** What most sentinels name. */
  async #named(): Promise<Endpoint | undefined> {
    const { path } = this.#options.target;
    const replies = await Promise.all(
      this.#sentinels.map((sentinel) => sentinel.send('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', path)),
    );
    const votes = new Map<string, { readonly endpoint: Endpoint; count: number }>();
    for (const reply of replies) {
      const [host, port] = reply.outcome === 'ok' ? items(reply.value) : [];
      if (typeof host !== 'string' || typeof port !== 'string') continue;
      const endpoint = { host, port: Number(port) };
      const vote = votes.get(displayEndpoint(endpoint)) ?? { endpoint, count: 0 };
      vote.count += 1;
      votes.set(displayEndpoint(endpoint), vote);
    }
    return [...votes.values()].sort((a, b) => b.count - a.count)[0]?.endpoint;
  }

  #at(announced: Endpoint): ServerLink {
    const { target } = this.#options;
    const endpoint = reachableAt(target, announced);
    const name = displayEndpoint(endpoint);
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const made = serverLink({ ...this.#options, target: { ...target, path: '' } }, endpoint);
    this.#known.set(name, made);
    return made;
  }

  #noPrimary(): TargetError {
    const { target } = this.#options;
    return new TargetError(
      `no sentinel of ${displayTarget(target)} names a primary "${stringToText(target.path)}"`,
      {
        code: 'target-unreachable',
        hint: 'write redis+sentinel://host:26379,host:26379/PRIMARY_NAME',
        definite: true,
      },
    );
  }
}

function notSent(detail: string): Reply<never> {
  return { outcome: 'fail', code: 'connect-failed', detail };
}

/** The address in a flat list of names and values. */
function fieldsOf(flat: readonly RedisValue[]): Endpoint {
  const field = (name: string): string => {
    const value = flat[flat.findIndex((one) => one === name) + 1];
    return typeof value === 'string' ? value : '';
  };
  return { host: field('ip'), port: Number(field('port')) };
}
