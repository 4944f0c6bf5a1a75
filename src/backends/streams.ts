/** Streams that a listing is made of: pages read ahead, and the items of pages. */

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

/** The same items; the next one is worked out while the reader is busy with this one. */
export async function* ahead<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = items.next();
  try {
    for (;;) {
      const item = await next;
      if (item.done === true) return;
      next = items.next();
      yield item.value;
    }
  } finally {
    // The reader stopped early, or it failed: what is still on its way is not needed.
    next.catch(() => undefined);
    items.return(undefined).catch(() => undefined);
  }
}
