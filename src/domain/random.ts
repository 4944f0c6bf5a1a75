/**
 * Seeded random numbers. Every draw has its own stream, named by the root seed and what is drawn,
 * so adding a step to a scenario moves no other draw. Not for owner tokens of real locks.
 */

/**
 * A stream of numbers in [0, 1) that depends on `parts` alone, the same on every platform.
 * @example seededRandom(rootSeed, stepId, 'jitter')
 */
export function seededRandom(...parts: readonly string[]): () => number {
  // Length-prefixed, so that ('ab','c') and ('a','bc') are different streams.
  const name = parts.map((part) => `${part.length}:${part}`).join('');
  const state = [hash(name, 1), hash(name, 2), hash(name, 3), hash(name, 4)];
  const next = (): number => smallFastCounter(state);
  // The first outputs of sfc32 still resemble its seed.
  for (let warmUp = 0; warmUp < 15; warmUp += 1) next();
  return next;
}

/** FNV-1a over UTF-16 code units with a finalizer, 32 bit. */
function hash(text: string, salt: number): number {
  let value = 0x811c9dc5 ^ Math.imul(salt, 0x9e3779b1);
  for (let at = 0; at < text.length; at += 1) {
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  }
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

/** One step of sfc32 (Chris Doty-Humphrey's PractRand); `state` has four 32-bit words. */
function smallFastCounter(state: number[]): number {
  const [a = 0, b = 0, c = 0, counter = 0] = state;
  const sum = (a + b + counter) | 0;
  state[0] = b ^ (b >>> 9);
  state[1] = (c + (c << 3)) | 0;
  state[2] = ((c << 21) | (c >>> 11)) + sum;
  state[3] = (counter + 1) | 0;
  return (sum >>> 0) / 4_294_967_296;
}
