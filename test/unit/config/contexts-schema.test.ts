/** `config.yaml`: what it means, and how precisely it is refused. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseContexts } from '../../../src/config/contexts-schema.ts';
import { InputFileError } from '../../../src/domain/errors.ts';

function refusal(body: string): string {
  try {
    parseContexts(`version: 1\ncontexts:\n${body}`, 'c.yaml');
  } catch (error) {
    if (!(error instanceof InputFileError)) throw error;
    return `${error.message} (${error.hint ?? ''})`;
  }
  throw new Error('the file was accepted');
}

test('the README’s example names a target, its account, and the layouts that are used there', () => {
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
  const example = /```yaml\n(version: 1\ncontexts:[^`]*)```/.exec(readme)?.[1] ?? '';
  expect([...parseContexts(example, 'README.md')]).toMatchObject([
    [
      'prod-redis',
      {
        target: { kind: 'redis', endpoints: [{ host: '10.0.0.4' }], username: 'inspector' },
        password: { env: 'PROD_REDIS_PASSWORD' },
        conventions: ['redisson', 'redisson-*', 'acme-job'],
      },
    ],
  ]);
});

test.each([
  [
    '  a: { target: "redis://h", convention: [x] }',
    /^c.yaml:3:\d+: unknown key "convention".*conventions/,
  ],
  [
    '  a: { target: "redis://u:secret@h" }',
    /^c.yaml:3:\d+: the URL has a password in it \(password:/,
  ],
  ['  a: { target: "http://h" }', /^c.yaml:3:\d+: /],
  ['  a: {}', /^c.yaml:3:\d+: "target" is missing/],
  ['  a/b: { target: "redis://h" }', /^c.yaml:3:3: "a\/b" is no name for a context/],
  ['  a: { target: "redis://h", password: secret }', /^c.yaml:3:\d+: only where the password is/],
  ['  a: { target: "http://u:secret@h" }', /^c.yaml:3:\d+: /],
  ['  a: { target: "redis://h", conventions: [] }', /^c.yaml:3:\d+: /],
])('%s is refused with its place, and no password is shown', (body, told) => {
  expect(refusal(body)).toMatch(told);
  expect(refusal(body)).not.toContain('secret');
});
