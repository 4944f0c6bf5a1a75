/** Turns a stream of pages into a stream of their items. */

/**
 * One item at a time, from pages fetched when the one before is used up. Written by hand because an
 * async generator costs several promises an item, which shows at a million items.
 */
export function flatten<T>(pages: AsyncGenerator<readonly T[]>): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => iterate(pages) };
}

function iterate<T>(pages: AsyncGenerator<readonly T[]>): AsyncIterator<T> {
  let page: readonly T[] = [];
  let at = 0;
  const turn = async (): Promise<IteratorResult<T>> => {
    for (;;) {
      const next = await pages.next();
      if (next.done === true) return { done: true, value: undefined };
      page = next.value;
      at = 0;
      const first = page[at++];
      if (first !== undefined) return { done: false, value: first };
    }
  };
  return {
    next() {
      const value = page[at++];
      return value === undefined ? turn() : Promise.resolve({ done: false, value });
    },
    async return() {
      await pages.return(undefined);
      page = [];
      return { done: true, value: undefined };
    },
  };
}
