import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { checkers } from '../../../src/checks/registry.ts';
import { parseScenario } from '../../../src/chaos/scenario-schema.ts';
import { requireHonoured } from '../../../src/chaos/worker-demands.ts';
import { openProtocol } from '../../../src/protocols/registry.ts';

const file = new URL('../../../scenarios/paused-holder-resumes.yaml', import.meta.url);
const known = Object.fromEntries(checkers.map(({ name, levels }) => [name, levels ?? []]));
const scenario = parseScenario(readFileSync(file, 'utf8'), 'classic.yaml', known);
const all = ['before-send', 'close-order', 'write', 'renew', 'fence', 'mutation'];

describe('a scenario with a worker of the user', () => {
  test('may run when the worker honours every step, the fence and the controls', async () => {
    const protocol = await openProtocol('redis-fenced', 'redis');
    expect(() => {
      requireHonoured(scenario, protocol, all, true);
    }).not.toThrow();
  });

  test.each([
    ['before-send', /line \d+, step A-close-order needs "before-send"/],
    ['renew', /line \d+, step A-renew needs "renew", which the worker does not honour/],
    ['fence', /protocol redis-fenced needs "fence"/],
    ['mutation', /control release-without-owner-check needs "mutation"/],
  ])('is refused with step and reason without "%s"', async (honour, says) => {
    const protocol = await openProtocol('redis-fenced', 'redis');
    const honours = all.filter((each) => each !== honour);
    expect(() => {
      requireHonoured(scenario, protocol, honours, true);
    }).toThrow(says);
  });

  test('needs no broken variant without controls, nor where the layout has none', async () => {
    const honours = all.filter((each) => each !== 'mutation');
    const redis = await openProtocol('redis-fenced', 'redis');
    expect(() => {
      requireHonoured(scenario, redis, honours, false);
    }).not.toThrow();
    const zookeeper = await openProtocol('zookeeper-sequential', 'zookeeper');
    expect(() => {
      requireHonoured(scenario, zookeeper, honours, true);
    }).not.toThrow();
  });
});
