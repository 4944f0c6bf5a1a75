/** Places in a picture: its instants, and its lanes, numbered as they come. */
import type { PictureLane } from '../domain/run-picture.ts';
import type { HistoryIndex } from './history.ts';

/** Nanoseconds of the index to milliseconds of the picture. */
export function toMs(ns: number): number {
  return ns / 1e6;
}

/** An instant of the picture as people read it: `2.08 s`. */
export function atText(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

const unnamedResource = 'resource';

export class Lanes {
  readonly #lanes: PictureLane[] = [];
  readonly #numbers = new Map<string, number>();

  constructor(index: HistoryIndex) {
    for (const { invoke } of index.operations) this.#add('worker', invoke.worker);
    for (const name of index.locks.keys()) this.#add('service', name);
    for (const lock of index.locks.values()) {
      for (const { operation } of lock.attempts) {
        this.#add('resource', operation.invoke.resource ?? unnamedResource);
      }
      for (const { fact, resource } of lock.observations) {
        if (fact === 'effect-row') this.#add('resource', resource ?? unnamedResource);
      }
    }
    // Notices may name workers that never asked for anything.
    for (const lock of index.locks.values()) {
      for (const { worker } of lock.notices) this.#add('worker', worker);
    }
  }

  all(): readonly PictureLane[] {
    return this.#lanes;
  }

  worker(name: string): number {
    return this.#add('worker', name);
  }

  service(lock: string): number {
    return this.#add('service', lock);
  }

  resource(name: string | undefined): number {
    return this.#add('resource', name ?? unnamedResource);
  }

  /** A fault's target is a worker's name, or something that has no lane of its own. */
  knownWorker(name: string): number | undefined {
    return this.#numbers.get(`worker ${name}`);
  }

  #add(kind: PictureLane['kind'], title: string): number {
    const key = `${kind} ${title}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.#lanes.length;
    this.#lanes.push({ kind, title });
    this.#numbers.set(key, number);
    return number;
  }
}
