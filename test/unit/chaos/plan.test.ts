import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { checkers } from '../../../src/checks/registry.ts';
import { seedOfRound } from '../../../src/chaos/plan.ts';
import { planScenarios } from '../../../src/chaos/runner.ts';
import { parseScenario } from '../../../src/chaos/scenario-schema.ts';

const known = Object.fromEntries(checkers.map(({ name, levels }) => [name, levels ?? []]));
const file = new URL('../../../scenarios/paused-holder-resumes.yaml', import.meta.url);
const scenario = parseScenario(readFileSync(file, 'utf8'), 'classic.yaml', known);
const redis = { name: 'redis', kind: 'redis', protocol: undefined } as const;

describe('the plan of a run', () => {
  test('is the same for the same scenario, seed and columns, hash included', async () => {
    const request = { scenarios: [scenario], columns: [redis], repeat: 1, seed: '7' };
    const [first, second] = [await planScenarios(request), await planScenarios(request)];
    expect(second).toEqual(first);
    expect((await planScenarios({ ...request, seed: '8' })).hash).not.toBe(first.hash);
  });

  test('may give each round a seed by which a single run plays it again', async () => {
    const request = { scenarios: [scenario], columns: [redis], repeat: 3, seed: '7' };
    const varied = { ...request, varySeed: true };
    expect([1, 2, 3].map((round) => seedOfRound(varied, round))).toEqual(['7', '7/2', '7/3']);
    expect([1, 2, 3].map((round) => seedOfRound(request, round))).toEqual(['7', '7', '7']);
    const [plan, plain] = [await planScenarios(varied), await planScenarios(request)];
    expect(plan.hash).not.toBe(plain.hash);
  });

  test('names the protocol, resolved spans and the undo of each fault', async () => {
    const { cells } = await planScenarios({
      scenarios: [scenario],
      columns: [redis],
      repeat: 1,
      seed: '7',
    });
    const [cell] = cells;
    expect(cell?.protocol).toBe('redis-fenced');
    const steps = new Map(cell?.steps.map((step) => [step.id, step]));
    expect(steps.get('wait-absent')?.span).toBe('within 2x lease = 4.00 s');
    expect(steps.get('A-pause')?.undo).toContain('SIGCONT');
    expect(cell?.controls.map(({ how }) => how)).toEqual(['resource', 'protocol']);
  });

  test('refuses a protocol that does not run on the column', async () => {
    const columns = [{ ...redis, protocol: 'etcd-lease-or-nothing' }];
    const plan = planScenarios({ scenarios: [scenario], columns, repeat: 1, seed: '7' });
    await expect(plan).rejects.toMatchObject({ code: 'unknown-protocol' });
  });
});
