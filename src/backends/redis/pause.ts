/** Waiting that ends at once when the caller gives up. */
import { interrupted } from './connection.ts';

/** @throws {Interrupted} when `signal` is aborted before `ms` have passed */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(interrupted());
      return;
    }
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(interrupted());
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
