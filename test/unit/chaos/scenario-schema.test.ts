import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { checkers } from '../../../src/checks/registry.ts';
import { parseScenario } from '../../../src/chaos/scenario-schema.ts';
import { InputFileError } from '../../../src/domain/errors.ts';
import type { Scenario } from '../../../src/domain/scenario.ts';

const known = Object.fromEntries(checkers.map(({ name, levels }) => [name, levels ?? []]));
const classic = readFileSync(
  new URL('../../../scenarios/paused-holder-resumes.yaml', import.meta.url),
  'utf8',
);

const small = `name: small
title: A small one
version: 1
protocol: fenced
lock: { name: l, lease: 2s }
resource: { kind: orders }
workers: [A, B]
steps:
  - A: acquire
  - pause: A
  - wait: { lock: absent, within: 2x lease }
  - B: acquire
invariants:
  - fence-strictly-grows
`;

function parse(text: string): Scenario {
  return parseScenario(text, 's.yaml', known);
}

/** Message and hint of the refusal. */
function refusal(text: string): { readonly message: string; readonly hint: string | undefined } {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof InputFileError) return { message: error.message, hint: error.hint };
    throw error;
  }
  throw new Error('the scenario was accepted');
}

describe('a scenario file', () => {
  test('gives steps in order, with ids and lines that a person finds again', () => {
    const { steps } = parse(classic);
    expect(steps.slice(0, 4).map(({ id }) => id)).toEqual([
      'A-acquire',
      'A-close-order',
      'A-pause',
      'wait-absent',
    ]);
    const line = classic.split('\n').findIndex((text) => text.includes('pause: A')) + 1;
    expect(steps[2]).toMatchObject({ kind: 'fault', fault: 'pause', worker: 'A', line });
    expect(steps[3]).toMatchObject({ cause: 'expired', within: { leaseFactor: 2, addMs: 0 } });
  });

  test('takes a worker of the user, which runs in the folder of the file', () => {
    const text = `${small}worker: { command: [python3, my_worker.py] }\n`;
    const { worker } = parseScenario(text, 'mine/s.yaml', known);
    expect(worker).toEqual({ command: ['python3', 'my_worker.py'], folder: 'mine' });
  });

  test('keeps levels, bounds and options of its invariants', () => {
    const { invariants } = parse(classic);
    expect(invariants).toContainEqual({
      name: 'takeover',
      within: { leaseFactor: 1, addMs: 2000 },
      options: { from: 'pause' },
    });
    expect(invariants).toContainEqual({ name: 'mutual-exclusion', level: 'service', options: {} });
  });
});

describe('a scenario file is refused with file, line and column', () => {
  test.each([
    {
      what: 'an unknown key, naming the nearest known one',
      text: small.replace('protocol:', 'protocl:'),
      says: 's.yaml:4:1: unknown key "protocl" (did you mean "protocol"?)',
    },
    {
      what: 'a lease without a unit',
      text: small.replace('lease: 2s', 'lease: 3'),
      says: 's.yaml:5:25: duration "3" has no unit',
    },
    {
      what: 'a span without a unit',
      text: small.replace('2x lease', '2'),
      says: 's.yaml:11:35: "2" has no unit',
    },
    {
      what: 'a step of a worker that there is not',
      text: small.replace('- B: acquire', '- C: acquire'),
      says: 's.yaml:12:5: unknown word "C"',
    },
    {
      what: 'a fault on a worker that there is not',
      text: small.replace('pause: A', 'pause: Z'),
      says: 's.yaml:10:12: there is no worker "Z"',
    },
    {
      what: 'an unknown operation, naming the nearest',
      text: small.replace('- A: acquire', '- A: aquire'),
      says: 's.yaml:9:8: unknown word "aquire"',
    },
    {
      what: 'an unknown invariant, naming the nearest',
      text: small.replace('fence-strictly-grows', 'fence-strictly-grow'),
      says: 's.yaml:14:5: there is no invariant "fence-strictly-grow"',
    },
    {
      what: 'an invariant without the level it needs',
      text: small.replace('fence-strictly-grows', 'mutual-exclusion'),
      says: 's.yaml:14:5: "mutual-exclusion" needs a level',
    },
    {
      what: 'a duplicate key',
      text: small.replace('version: 1', 'version: 1\nversion: 1'),
      says: 's.yaml:4:1: this key is there twice',
    },
    {
      what: 'a word that YAML 1.1 reads as a boolean',
      text: small.replace('title: A small one', 'title: yes'),
      says: 's.yaml:2:8: "yes" means different things to YAML readers',
    },
    {
      what: 'a number that YAML 1.1 reads in base 8',
      text: small.replace('version: 1', 'version: 01'),
      says: 's.yaml:3:10: "01" means different things to YAML readers',
    },
    {
      what: 'an alias',
      text: small.replace('[A, B]', '[&a A, *a]'),
      says: 's.yaml:7:14: anchors and tags are not allowed',
    },
    {
      what: 'an operation of a paused worker',
      text: small.replace('- B: acquire', '- A: release'),
      says: 's.yaml:12:5: A is under "pause" since step A-pause',
    },
    {
      what: 'a resume of a worker that is not paused',
      text: small.replace('- B: acquire', '- resume: B'),
      says: 's.yaml:12:5: B is not paused',
    },
    {
      what: 'go without a park',
      text: small.replace('- B: acquire', '- B: go'),
      says: 's.yaml:12:5: B is not parked',
    },
    {
      what: 'an end of a fault that no step began',
      text: small.replace('- B: acquire', '- end: nothing'),
      says: 's.yaml:12:5: no fault was begun by a step "nothing"',
    },
    {
      what: 'a control that expects no violation',
      text: `${small}controls:\n  - mutate: resource-accepts-any\n    expect: { fence-strictly-grows: held }\n`,
      says: 's.yaml:17:13: control "resource-accepts-any" expects no violation',
    },
    {
      what: 'an expectation of an invariant that is not checked',
      text: `${small}expect: { progress: violated }\n`,
      says: 's.yaml:15:11: this scenario does not check "progress"',
    },
    {
      what: 'an expected violation without a reason',
      text: `${small}expect: { fence-strictly-grows: violated }\n`,
      says: 's.yaml:15:33: "fence-strictly-grows" is expected to be violated, and nobody says why',
    },
    { what: 'an empty file', text: '', says: 's.yaml:1:1: ' },
    { what: 'a file that is not YAML', text: 'a: [', says: 's.yaml:1:' },
  ])('for $what', ({ text, says }) => {
    const { message, hint } = refusal(text);
    expect(`${message}${hint === undefined ? '' : ` (${hint})`}`).toContain(says);
  });

  test('with every error at once, each on its line', () => {
    const broken = small.replace('- A: acquire', '- A: aquire').replace('pause: A', 'pause: Z');
    const { message, hint } = refusal(broken);
    expect(message.split('\n')).toHaveLength(2);
    expect(hint).toBe('2 errors; nothing was run');
  });

  test('when it is larger than a scenario can be, or has too many steps', () => {
    expect(refusal(`# ${'x'.repeat(300_000)}\n${small}`).message).toContain('larger than 256 KiB');
    const many = small.replace('  - pause: A\n', '  - A: renew\n'.repeat(300));
    expect(refusal(many).message).toContain('s.yaml:9:3');
  });
});
