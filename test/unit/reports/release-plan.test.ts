import { expect, test } from 'vitest';
import { planLines, type ShownGuard, type ShownPlan } from '../../../src/reports/release-plan.ts';
import { plainPaint } from '../../../src/reports/paint.ts';

const soft: ShownGuard = {
  name: 'no-renewal',
  level: 'soft',
  state: 'unknown',
  text: 'the lease was not observed',
  remedy: 'leave --observe at auto',
};
const hard: ShownGuard = {
  name: 'format-recognised',
  level: 'hard',
  state: 'refused',
  text: 'ZooKeeper cannot hold',
  remedy: 'leave --hold out',
};
const consent: ShownGuard = {
  name: 'same-grant',
  level: 'hard',
  state: 'refused',
  text: 'the grant must be named',
  remedy: 'add --expect z1.5.aaaa',
  consent: true,
};

function verdict(...refusedBy: readonly ShownGuard[]): string {
  const plan: ShownPlan = {
    lock: '/locks/a',
    server: 'zk://10.0.0.4:2181',
    executing: false,
    holders: 'w1',
    deletes: [],
    replaces: false,
    afterwards: undefined,
    wakes: [],
    atomicity: 'one step',
    warnings: [],
    guards: refusedBy,
    overrides: new Map(),
    refusedBy,
    columns: 100,
    next: 'fencepost release /locks/a --execute',
  };
  const lines = planLines(plan, plainPaint);
  return lines.slice(lines.findIndex((line) => line.startsWith('REFUSED'))).join('\n');
}

test('a refusal that nothing overrides offers no override for the others', () => {
  const text = verdict(hard, soft);
  expect(text).toContain('REFUSED by format-recognised, no-renewal.');
  expect(text).toContain('No override helps against format-recognised.');
  expect(text).toContain('format-recognised: leave --hold out');
  expect(text).not.toContain('--override');
  expect(text).not.toContain('--observe');
});

test('where only the consent is missing, the overrides of the others are told with it', () => {
  const text = verdict(consent, soft);
  expect(text).toContain('same-grant: add --expect z1.5.aaaa');
  expect(text).toContain('--override no-renewal=');
  expect(text).not.toContain('No override helps');
});
