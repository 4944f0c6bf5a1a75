/** One request of a worker arrives and is carried out; only its reply is lost on the way back. */
import type { Fault } from './fault.ts';
import { createSwallow, type Swallower } from './swallow.ts';

/** @param broken what of the shipped injector is swapped out */
export function createLoseReply(broken: Partial<Swallower> = {}): Fault {
  const name = 'lose-reply';
  const title = 'lose exactly one reply to a worker whose request arrived';
  return createSwallow({ name, title, what: 'reply' }, broken);
}

export const loseReply: Fault = createLoseReply();
