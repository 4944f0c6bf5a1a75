/**
 * Sorts a stream of keys into records: the keys of one queue together, every other key by itself.
 * Keys come in the order of their names, so a queue is complete once a key comes that does not
 * begin with its prefix; only queues that enclose the present key are open at any time.
 */
import type { Text } from '../../domain/text.ts';
import type { EtcdKey, EtcdRecord } from '../../conventions/convention.ts';
import { queueOf } from '../../conventions/etcd-queue.ts';

interface OpenQueue {
  readonly name: Text;
  readonly keys: EtcdKey[];
}

export class Grouper {
  /** Each encloses the next. */
  #open: OpenQueue[] = [];

  /** Takes the next key; returns the records that are complete. */
  add(key: EtcdKey): readonly EtcdRecord[] {
    const done = this.#closeAllBut((queue) => key.key.startsWith(`${queue.name}/`));
    const name = queueOf(key);
    if (name === undefined) {
      const single = record(key.key, [key]);
      return done.length === 0 ? [single] : [...done, single];
    }
    const queue = this.#open.find((one) => one.name === name);
    if (queue === undefined) this.#open.push({ name, keys: [key] });
    else queue.keys.push(key);
    return done;
  }

  /** The records that the end of the stream completes. */
  end(): readonly EtcdRecord[] {
    return this.#closeAllBut(() => false);
  }

  #closeAllBut(stays: (queue: OpenQueue) => boolean): readonly EtcdRecord[] {
    if (this.#open.every(stays)) return noRecords;
    const done = this.#open.filter((queue) => !stays(queue));
    this.#open = this.#open.filter(stays);
    return done.map(({ name, keys }) => record(name, keys));
  }
}

const noRecords: readonly EtcdRecord[] = [];

function record(name: Text, keys: readonly EtcdKey[]): EtcdRecord {
  return { system: 'etcd', name, keys };
}
