/** One request of a worker is lost on its way: the server never hears of it. */
import type { Fault } from './fault.ts';
import { createSwallow, type Swallower } from './swallow.ts';

/** @param broken what of the shipped injector is swapped out */
export function createLoseRequest(broken: Partial<Swallower> = {}): Fault {
  const name = 'lose-request';
  const title = 'lose exactly one request of a worker on its way to the server';
  return createSwallow({ name, title, what: 'request' }, broken);
}

export const loseRequest: Fault = createLoseRequest();
