/** Templates of keys: literal text and captures, matched in one pass. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  fillTemplate,
  matchTemplate,
  parseTemplate,
  type Template,
} from '../../../src/conventions/own/template.ts';
import { bytesToText, parseText } from '../../../src/domain/text.ts';

function template(text: string): Template {
  const parsed = parseTemplate(text);
  if (!parsed.ok) throw new Error(parsed.why);
  return parsed.template;
}

function match(pattern: string, text: string): Record<string, string> | undefined {
  const found = matchTemplate(template(pattern), parseText(text));
  return found && Object.fromEntries(found);
}

describe('a template', () => {
  test.each([
    ['acme:<name>:lock', 'acme:orders:lock', { name: 'orders' }],
    ['acme:<name>:lock', 'acme:a:lock:lock', { name: 'a:lock' }],
    ['<host>:<pid>:<owner>', 'h1:42:a:b', { host: 'h1', pid: '42', owner: 'a:b' }],
    ['cron-leader', 'cron-leader', {}],
    ['job:{<name>}', 'job:{a}', { name: 'a' }],
    ['<<name>'.replace('<<', '\\<<'), '<x', { name: 'x' }],
  ])('"%s" fits "%s"', (pattern, text, captures) => {
    expect(match(pattern, text)).toEqual(captures);
  });

  test.each([
    ['acme:<name>:lock', 'acme::lock'],
    ['acme:<name>:lock', 'acme:orders:lock2'],
    ['acme:<name>:lock', 'ACME:orders:lock'],
    ['<a>-<b>-<c>', 'x-y'],
    ['cron-leader', 'cron-leader2'],
  ])('"%s" does not fit "%s"', (pattern, text) => {
    expect(match(pattern, text)).toBeUndefined();
  });

  test.each([
    ['a<b', 'does not end'],
    ['<Name>', 'is no capture'],
    ['<a><b>', 'touch'],
    ['<a>-<a>', 'there twice'],
    ['<>', 'is no capture'],
  ])('"%s" is refused: %s', (pattern, why) => {
    expect(parseTemplate(pattern)).toMatchObject({
      ok: false,
      why: expect.stringContaining(why) as string,
    });
  });

  test('what is filled in comes out again, as long as it holds none of the text between', () => {
    const word = fc.stringMatching(/^[a-z0-9\n\\]{1,12}$/).map(parseText);
    fc.assert(
      fc.property(word, word, (a, b) => {
        const pattern = template('x/<a>|<b>/y');
        const captures = new Map(Object.entries({ a, b }));
        const text = fillTemplate(pattern, captures);
        expect(text && matchTemplate(pattern, text)).toEqual(captures);
      }),
    );
  });

  test('arbitrary patterns and texts never throw, and long hostile ones take no time', () => {
    const bytes = fc.uint8Array({ maxLength: 40 }).map(bytesToText);
    fc.assert(
      fc.property(fc.string(), bytes, (pattern, text) => {
        const parsed = parseTemplate(pattern);
        if (parsed.ok) matchTemplate(parsed.template, text);
      }),
    );
    const many = template(`${Array.from({ length: 50 }, (_, at) => `<c${at}>a`).join('')}b`);
    const startedMs = performance.now();
    expect(matchTemplate(many, parseText('a'.repeat(500_000)))).toBeUndefined();
    expect(performance.now() - startedMs).toBeLessThan(1_000);
  });
});
