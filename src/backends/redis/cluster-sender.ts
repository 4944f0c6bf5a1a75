/**
 * Sends each command to the node that serves its key, and what has no key to one node, its home.
 * A read that is told to go elsewhere goes there: MOVED (the map is old) or ASK (this key has gone
 * ahead of its slot). A write is never sent a second time.
 */
import { bytesToText, stringToText, type Text } from '../../domain/text.ts';
import type { Cluster } from './cluster.ts';
import type { Command, RedisConnection, RequestOptions, Sender } from './connection.ts';
import { redirection } from './errors.ts';
import { asArray, asNumber } from './replies.ts';

/** Redirections followed for one command: more of them would be two nodes pointing at each other. */
const hops = 5;

const keyless = new Set(
  'SCAN INFO ROLE TIME PUBSUB CLIENT HELLO PING CONFIG CLUSTER ACL COMMAND'.split(' '),
);
const keyAtSecond = new Set('OBJECT MEMORY XINFO'.split(' '));

export class ClusterSender implements Sender {
  readonly #cluster: Cluster;
  readonly #home: RedisConnection;

  constructor(cluster: Cluster, home: RedisConnection) {
    this.#cluster = cluster;
    this.#home = home;
  }

  async send(command: Command, how: RequestOptions): Promise<unknown> {
    const [answer] = await this.sendAll([command], how);
    if (answer instanceof Error) throw answer;
    return answer;
  }

  async sendAll(commands: readonly Command[], how: RequestOptions): Promise<unknown[]> {
    const groups = new Map<RedisConnection, number[]>();
    for (const [index, command] of commands.entries()) {
      const node = await this.#nodeFor(command, how);
      const group = groups.get(node);
      if (group === undefined) groups.set(node, [index]);
      else group.push(index);
    }
    const answers: unknown[] = new Array<unknown>(commands.length);
    await Promise.all(
      [...groups].map(async ([node, indexes]) => {
        const group = indexes.flatMap((index) => {
          const command = commands[index];
          return command === undefined ? [] : [command];
        });
        const replies = await node.sendAll(group, how);
        await Promise.all(
          indexes.map(async (index, at) => {
            const command = group[at];
            if (command !== undefined)
              answers[index] = await this.#settle(command, replies[at], how);
          }),
        );
      }),
    );
    return answers;
  }

  async #nodeFor(command: Command, how: RequestOptions): Promise<RedisConnection> {
    const key = keyOf(command);
    return key === undefined ? this.#home : this.#cluster.ownerOf(key, how.signal);
  }

  async #settle(command: Command, reply: unknown, how: RequestOptions): Promise<unknown> {
    if (isSubscriberCount(command)) return this.#countEverywhere(command, reply, how);
    let answer = reply;
    for (let hop = 0; hop < hops && how.doing !== 'write'; hop += 1) {
      const there = redirection(answer);
      if (there === undefined) return answer;
      if (there.kind === 'moved') {
        await this.#cluster.refresh(how.signal);
        answer = await this.#one(this.#cluster.atAnnounced(there.to), [command], how);
      } else {
        answer = await this.#one(this.#cluster.atAnnounced(there.to), [['ASKING'], command], how);
      }
    }
    return answer;
  }

  async #one(
    node: RedisConnection,
    commands: readonly Command[],
    how: RequestOptions,
  ): Promise<unknown> {
    return (await node.sendAll(commands, how)).at(-1);
  }

  /** A node knows only the subscribers that are connected to it: all of them are asked. */
  async #countEverywhere(command: Command, own: unknown, how: RequestOptions): Promise<unknown> {
    const { nodes } = await this.#cluster.map(how.signal);
    const others = nodes.map(({ endpoint }) => this.#cluster.at(endpoint));
    const replies = await Promise.all(
      others
        .filter((node) => node !== this.#home)
        .map((node) => this.#one(node, [command], how).catch((error: unknown) => error)),
    );
    const all = [own, ...replies];
    const failed = all.find((one) => one instanceof Error);
    if (failed !== undefined) return failed;
    const lists = all.map((one) => asArray(one, 'PUBSUB NUMSUB'));
    return (lists[0] ?? []).map((item, index) =>
      index % 2 === 0
        ? item
        : lists.reduce((sum, list) => sum + asNumber(list[index], 'PUBSUB NUMSUB'), 0),
    );
  }
}

function isSubscriberCount([name, subcommand]: Command): boolean {
  return name === 'PUBSUB' && String(subcommand).endsWith('NUMSUB');
}

/** The command's (first) key: all keys of one command are in one slot, or it would be refused. */
function keyOf(command: Command): Text | undefined {
  const [name, ...args] = command;
  if (keyless.has(name)) return undefined;
  if (name.startsWith('EVAL')) return Number(args[1]) > 0 ? toText(args[2]) : undefined;
  return toText(args[keyAtSecond.has(name) ? 1 : 0]);
}

function toText(argument: Command[number] | undefined): Text | undefined {
  if (argument === undefined) return undefined;
  return Buffer.isBuffer(argument) ? bytesToText(argument) : stringToText(String(argument));
}
