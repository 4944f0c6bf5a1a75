import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { printable, redactSecrets, shellQuote } from '../../../src/reports/escape.ts';

describe('text that did not come through an adapter', () => {
  test('control and direction characters become escapes, line breaks stay', () => {
    expect(printable('a\nb\u001b[31m\u202e\u2028')).toBe('a\nb\\x1b[31m\\u{202e}\\u{2028}');
  });

  test('a password in a URL is blotted out whatever characters it holds', () => {
    for (const password of [
      'plain',
      'with/slash',
      'with#hash?',
      'with@at',
      'with:colon',
      'with space',
      'p 34@5',
    ]) {
      const text = redactSecrets(`cannot open redis://me:${password}@host:6379/0: refused`);
      expect(text).toBe('cannot open redis://me:***@host:6379/0: refused');
    }
  });

  test('a URL without credentials is left alone', () => {
    expect(redactSecrets('redis://host:6379/0 and me@home')).toBe(
      'redis://host:6379/0 and me@home',
    );
  });
});

describe('arguments for a shell', () => {
  test('a plain word needs no quotes', () => {
    expect(shellQuote('orders:42')).toBe('orders:42');
  });

  test('a shell reads back exactly the argument that was quoted', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (argument) => {
        fc.pre(!argument.includes('\0'));
        const said = execFileSync('sh', ['-c', `printf %s ${shellQuote(argument)}`]);
        expect(said.toString('utf8')).toBe(argument);
      }),
      { numRuns: 40 },
    );
  });
});
