/**
 * Reads raw records: pages of the keyspace, or named keys. By one read-only script per page where
 * the account may run one, else by an ordinary script, else by pipelines; which one is found out by
 * trying, because the command table does not tell what an account may do.
 */
import { textToBytes, type Text } from '../../domain/text.ts';
import type { Command, RequestOptions, Sender } from './connection.ts';
import { isRefusal, isTornApart, isUnknownCommand } from './errors.ts';
import { joined, parsePage, type Page } from './page.ts';
import { pipelinedKeys, pipelinedPage } from './pipelined-reader.ts';
import { keysScript, pageScript, pageSize } from './scripts/read.ts';

export interface PageRequest {
  readonly cursor: string;
  /** Raw glob of the server's MATCH, or undefined. */
  readonly match: Buffer | undefined;
  /** Fewer slots per page than usual, for a slow walk. */
  readonly count: number | undefined;
}

type Way = 'EVAL_RO' | 'EVAL' | 'pipeline';
const nextWay: Readonly<Record<Way, Way | undefined>> = {
  EVAL_RO: 'EVAL',
  EVAL: 'pipeline',
  pipeline: undefined,
};

/** Remembers which way of reading this account may use. */
export class RecordReader {
  readonly #sender: Sender;
  readonly #together: (key: Text) => number;
  #way: Way = 'EVAL_RO';

  /** @param together keys of the same number may be read by one script (Redis Cluster: the slot) */
  constructor(sender: Sender, together: (key: Text) => number = () => 0) {
    this.#sender = sender;
    this.#together = together;
  }

  /** The present way of reading, for people. */
  get way(): string {
    return this.#way === 'pipeline' ? 'pipelines' : `${this.#way} scripts`;
  }

  async page(request: PageRequest, how: RequestOptions): Promise<Page> {
    const { cursor, match } = request;
    const count = Math.max(1, Math.min(pageSize.count, request.count ?? pageSize.count));
    const { enough, scans } = pageSize;
    return this.#read(
      [pageScript, 0, cursor, count, match ?? '', enough, scans],
      () => pipelinedPage(this.#sender, { cursor, match, count }, how),
      how,
    );
  }

  /** Named keys, each with the members of its list or sorted set. Absent keys come as type `none`. */
  async keys(keys: readonly Text[], how: RequestOptions): Promise<Page> {
    const groups = new Map<number, Text[]>();
    for (const key of keys) {
      const number = this.#together(key);
      const group = groups.get(number);
      if (group === undefined) groups.set(number, [key]);
      else group.push(key);
    }
    if (groups.size <= 1) return this.#keysTogether(keys, how);
    return joined(
      await Promise.all([...groups.values()].map((group) => this.#keysTogether(group, how))),
    );
  }

  /** A script wants all its keys on one node; while a slot moves they may be on two. */
  async #keysTogether(keys: readonly Text[], how: RequestOptions): Promise<Page> {
    try {
      return await this.#keysAtOnce(keys, how);
    } catch (error) {
      if (!isTornApart(error)) throw error;
      return joined(await Promise.all(keys.map((key) => this.#keysAtOnce([key], how))));
    }
  }

  async #keysAtOnce(keys: readonly Text[], how: RequestOptions): Promise<Page> {
    const raw = keys.map((key) => Buffer.from(textToBytes(key)));
    return this.#read(
      [keysScript, raw.length, ...raw],
      () => pipelinedKeys(this.#sender, raw, how),
      how,
    );
  }

  async #read(
    script: readonly (string | number | Buffer)[],
    byPipeline: () => Promise<Page>,
    how: RequestOptions,
  ): Promise<Page> {
    for (;;) {
      const way = this.#way;
      if (way === 'pipeline') return byPipeline();
      try {
        const command: Command = [way, ...script];
        return parsePage(await this.#sender.send(command, how));
      } catch (error) {
        const next = nextWay[way];
        if (next === undefined || !(isRefusal(error) || isUnknownCommand(error))) throw error;
        // Another request may have moved on already.
        if (this.#way === way) this.#way = next;
      }
    }
  }
}
