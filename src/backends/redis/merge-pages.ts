/** Several streams of pages as one: whichever has a page next. */

/**
 * Each stream is one page ahead at most. A stream that fails is told to `onFailure`, which may
 * throw to end them all; the others go on.
 */
export async function* mergePages<T>(
  streams: readonly AsyncGenerator<T>[],
  onFailure: (error: unknown, stream: number) => void,
): AsyncGenerator<T> {
  const pending = new Map<number, Promise<Step<T>>>();
  const ask = (index: number): void => {
    const stream = streams[index];
    if (stream !== undefined) pending.set(index, step(stream, index));
  };
  for (const index of streams.keys()) ask(index);
  try {
    while (pending.size > 0) {
      const next = await Promise.race(pending.values());
      pending.delete(next.index);
      if (next.kind === 'failed') onFailure(next.error, next.index);
      if (next.kind !== 'page') continue;
      ask(next.index);
      yield next.page;
    }
  } finally {
    await Promise.allSettled(streams.map((stream) => stream.return(undefined)));
  }
}

type Step<T> = { readonly index: number } & (
  | { readonly kind: 'page'; readonly page: T }
  | { readonly kind: 'end' }
  | { readonly kind: 'failed'; readonly error: unknown }
);

async function step<T>(stream: AsyncGenerator<T>, index: number): Promise<Step<T>> {
  try {
    const next = await stream.next();
    return next.done === true ? { index, kind: 'end' } : { index, kind: 'page', page: next.value };
  } catch (error) {
    return { index, kind: 'failed', error };
  }
}
