/** Globs over names must agree with what a Redis server would match. */
import { expect, test } from 'vitest';
import { defaultLockPatterns, globMatcher } from '../../../src/domain/glob.ts';
import { parseText } from '../../../src/domain/text.ts';

const matches = (pattern: string, name: string) => globMatcher([pattern])(parseText(name));

test('the default patterns find lock, mutex, lease and leader anywhere, in either case', () => {
  const isLock = globMatcher(defaultLockPatterns);
  expect(
    ['lock:a', 'app:LOCK', 'x-mutex', 'lease/1', 'the-leader'].map(parseText).map(isLock),
  ).toEqual([true, true, true, true, true]);
  expect(['cache:1', 'sku:12', ''].map(parseText).map(isLock)).toEqual([false, false, false]);
});

test('wildcards, classes and escapes read as in Redis', () => {
  expect(matches('h?llo', 'hello')).toBe(true);
  expect(matches('h[ae]llo', 'hallo')).toBe(true);
  expect(matches('h[^e]llo', 'hello')).toBe(false);
  expect(matches('h[b-a]llo', 'hallo')).toBe(true);
  expect(matches('a[.]b', 'axb')).toBe(false);
  expect(matches('a\\*', 'a*')).toBe(true);
  expect(matches('a\\*', 'ab')).toBe(false);
  expect(matches('a(b', 'a(b')).toBe(true);
  expect(matches('{x}:*', '{x}:1')).toBe(true);
  expect(matches('lock', 'lock:1')).toBe(false);
});

test('no pattern at all matches nothing', () => {
  expect(globMatcher([])(parseText('lock'))).toBe(false);
});
