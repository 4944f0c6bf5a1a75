/**
 * A link to a Redis Cluster: each command goes to the node of its key's slot. MOVED and ASK are
 * followed, since a node that answers so has done nothing; whatever else went wrong is the outcome.
 */
import calculateSlot from 'cluster-key-slot';
import { TargetError } from '../domain/errors.ts';
import {
  displayEndpoint,
  displayTarget,
  reachableAt,
  type Endpoint,
  type Target,
} from '../domain/target.ts';
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

const mostRedirections = 3;

/** Slots `from` to `to` and the nodes that have them, the primary first, as announced. */
interface Range {
  readonly from: number;
  readonly to: number;
  readonly nodes: readonly Endpoint[];
}

/** @throws {TargetError | PermissionError} when no node can be reached or none has a map */
export async function openClusterLink(options: LinkOptions): Promise<RedisLink> {
  const link = new ClusterLink(options);
  const failure = await link.open();
  if (failure === undefined) return link;
  link.close();
  throw failure;
}

class ClusterLink implements RedisLink {
  readonly #options: LinkOptions;
  readonly #target: Target;
  readonly #links = new Map<string, ServerLink>();
  #map: Promise<readonly Range[]> | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#target = options.target;
  }

  async open(): ReturnType<ServerLink['open']> {
    const seeds = this.#target.endpoints.map((endpoint) => this.#at(endpoint));
    const failures = await Promise.all(seeds.map((seed) => seed.open()));
    if (failures.every((failure) => failure !== undefined)) return failures[0];
    return (await this.#ranges()).length === 0 ? this.#noMap() : undefined;
  }

  async send(...command: Command): Promise<Reply<{ value: RedisValue }>> {
    let node = await this.#ownerOf(keyOf(command));
    let reply = await this.#sent(node, command);
    if (isUnreached(reply)) {
      // It got nothing, and another node may serve the slot by now.
      node = await this.#ownerOf(keyOf(command));
      reply = await this.#sent(node, command);
    }
    for (let turn = 0; turn < mostRedirections; turn += 1) {
      const to = redirection(reply);
      if (to === undefined) return reply;
      node = this.#at(reachableAt(this.#target, to.endpoint));
      reply = to.ask ? await askOn(node, command) : await this.#sent(node, command);
    }
    return reply;
  }

  async pin(key: string): Promise<Pick<RedisSender, 'send'>> {
    const node = await this.#ownerOf(key);
    if (node === undefined) return { send: () => Promise.resolve(this.#notSent()) };
    const pinned = await node.pin(key);
    return { send: async (...command) => this.#judged(await pinned.send(...command)) };
  }

  async primaries(): Promise<readonly RedisSender[]> {
    const primaries = (await this.#ranges()).flatMap(({ nodes }) => nodes.slice(0, 1));
    if (primaries.length === 0) throw this.#noMap();
    return this.#distinct(primaries);
  }

  async servers(): Promise<readonly NamedServer[]> {
    return this.#distinct(await this.announced());
  }

  /** Replicas too, which the map of slots may not have yet or no more. */
  async announced(): Promise<readonly Endpoint[]> {
    const lists = await Promise.all(
      this.#target.endpoints.map(async (endpoint) => {
        const reply = await this.#at(endpoint).send('CLUSTER', 'NODES');
        return reply.outcome === 'ok' ? nodesIn(reply.value, endpoint) : [];
      }),
    );
    const all = [...(await this.#ranges()).flatMap(({ nodes }) => nodes), ...lists.flat()];
    return [...new Map(all.map((one) => [displayEndpoint(one), one])).values()];
  }

  close(): void {
    for (const link of this.#links.values()) link.close();
  }

  #distinct(announced: readonly Endpoint[]): readonly ServerLink[] {
    return [...new Set(announced.map((one) => this.#at(reachableAt(this.#target, one))))];
  }

  async #sent(
    node: ServerLink | undefined,
    command: Command,
  ): Promise<Reply<{ value: RedisValue }>> {
    return node === undefined ? this.#notSent() : this.#judged(await node.send(...command));
  }

  /** A reply that says that the map is old makes the next request ask for another. */
  #judged<T extends Reply<object>>(reply: T): T {
    if (isElsewhere(reply)) this.#map = undefined;
    return reply;
  }

  async #ownerOf(key: string): Promise<ServerLink | undefined> {
    const slot = calculateSlot(key);
    const ranges = await this.#ranges();
    const [owner] = ranges.find(({ from, to }) => from <= slot && slot <= to)?.nodes ?? [];
    return owner === undefined ? undefined : this.#at(reachableAt(this.#target, owner));
  }

  #ranges(): Promise<readonly Range[]> {
    this.#map ??= this.#ask().then((ranges) => {
      if (ranges.length === 0) this.#map = undefined;
      return ranges;
    });
    return this.#map;
  }

  /** The map of the node that knows the latest epoch: one that was cut off tells an old one. */
  async #ask(): Promise<readonly Range[]> {
    const told = await Promise.all(
      this.#target.endpoints.map(async (endpoint) => {
        const node = this.#at(endpoint);
        const slots = await node.send('CLUSTER', 'SLOTS');
        const info = await node.send('CLUSTER', 'INFO');
        if (slots.outcome !== 'ok' || info.outcome !== 'ok') return undefined;
        const epoch = /cluster_current_epoch:(\d+)/.exec(String(info.value))?.[1] ?? '0';
        return { epoch: Number(epoch), ranges: toRanges(slots.value, endpoint) };
      }),
    );
    const known = told.filter((one) => one !== undefined);
    return known.sort((a, b) => b.epoch - a.epoch)[0]?.ranges ?? [];
  }

  #at(endpoint: Endpoint): ServerLink {
    const name = displayEndpoint(endpoint);
    const known = this.#links.get(name);
    if (known !== undefined) return known;
    const made = serverLink({ ...this.#options, target: { ...this.#target, path: '' } }, endpoint);
    this.#links.set(name, made);
    return made;
  }

  #notSent(): Reply<never> {
    return { outcome: 'fail', code: 'connect-failed', detail: this.#noMap().message };
  }

  #noMap(): TargetError {
    return new TargetError(`no node of ${displayTarget(this.#target)} says who serves this slot`, {
      code: 'target-unreachable',
      hint: 'see CLUSTER INFO and CLUSTER NODES on any node',
      definite: true,
    });
  }
}

/** Scripts name their keys after their number, everything else that has one names it first. */
function keyOf([name, ...args]: Command): string {
  return String(name === 'EVAL' ? args[2] : args[0]);
}

/** For one command only: the node does not own the slot yet. */
async function askOn(node: ServerLink, command: Command): Promise<Reply<{ value: RedisValue }>> {
  const pinned = await node.pin(keyOf(command));
  const asking = await pinned.send('ASKING');
  if (asking.outcome === 'ok') return pinned.send(...command);
  // ASKING itself has no effect, whatever became of it.
  return { outcome: 'fail', code: 'connect-failed', detail: asking.detail ?? asking.code };
}

/** `MOVED 3999 127.0.0.1:6381`, `ASK 3999 127.0.0.1:6381`. */
function redirection(
  reply: Reply<object>,
): { readonly ask: boolean; readonly endpoint: Endpoint } | undefined {
  if (reply.outcome !== 'fail') return undefined;
  const match = /^(MOVED|ASK) \d+ (.+):(\d+)$/.exec(reply.detail ?? '');
  if (match === null) return undefined;
  const [, word, host = '', port] = match;
  return { ask: word === 'ASK', endpoint: { host, port: Number(port) } };
}

/** Lines of `id host:port@bus[,hostname] flags …`; a node may not know its own host. */
function nodesIn(value: RedisValue, asked: Endpoint): readonly Endpoint[] {
  if (typeof value !== 'string') return [];
  // Line ends arrive escaped, as everything from the server does.
  return value.split('\\n').flatMap((line) => {
    const match = /^\w+ (.*):(\d+)@\d+\S* (\S+)/.exec(line);
    if (match === null) return [];
    const [, host = '', port, flags = ''] = match;
    if (/noaddr|handshake/.test(flags)) return [];
    return [{ host: host === '' ? asked.host : host, port: Number(port) }];
  });
}

function toRanges(value: RedisValue, asked: Endpoint): readonly Range[] {
  return items(value).map((range) => {
    const [from, to, ...nodes] = items(range);
    return {
      from: Number(from),
      to: Number(to),
      nodes: nodes.map((node) => {
        const [host, port] = items(node);
        // A node that knows no address of its own means the one at which it was asked.
        const known = typeof host === 'string' && host !== '' ? host : asked.host;
        return { host: known, port: Number(port) };
      }),
    };
  });
}
