import { describe, expect, test } from 'vitest';
import { checksOf, selectChecks } from '../../../src/audit/registry.ts';
import { judgeAll, verdictOf, type AuditPlan } from '../../../src/audit/run-audit.ts';
import { facts, lock, lockSample, refusedFacts } from '../../helpers/audit-facts.ts';

const redisChecks = checksOf('redis');

const plan: AuditPlan = {
  checks: redisChecks,
  limits: { leaseMs: 10_000 },
  failOn: 'med',
  allowUnknown: new Set(),
};

describe('the verdict of an audit', () => {
  test('is passed when all is sound', () => {
    expect(verdictOf(judgeAll(facts(), plan), 'low')).toBe('passed');
  });

  test('is failed by a failure at or above the limit, not by one below it', () => {
    const long = facts({ locks: lockSample([lock('a', 7_200_000)]) });
    expect(verdictOf(judgeAll(long, plan), 'med')).toBe('failed');
    expect(verdictOf(judgeAll(long, plan), 'high')).toBe('passed');
  });

  test('is unknown when something was refused, unless each of those is allowed', () => {
    expect(verdictOf(judgeAll(refusedFacts(), plan), 'med')).toBe('unknown');
    const allowed = { ...plan, allowUnknown: new Set(redisChecks.map(({ id }) => id)) };
    expect(verdictOf(judgeAll(refusedFacts(), allowed), 'med')).toBe('passed');
  });

  test('is failed rather than unknown when both hold', () => {
    const both = { ...refusedFacts(), locks: lockSample([lock('a', undefined)]) };
    expect(verdictOf(judgeAll(both, plan), 'med')).toBe('failed');
  });
});

describe('the choice of checks', () => {
  test('keeps the order of the registry, in any spelling', () => {
    expect(selectChecks(['r10', 'R04'], []).map(({ id }) => id)).toEqual(['R04', 'R10']);
    expect(selectChecks(['R10', 'R04'], ['R10']).map(({ id }) => id)).toEqual(['R04']);
  });

  test('refuses an id that does not exist, and a choice of none', () => {
    expect(() => selectChecks(['R404'], [])).toThrow('there is no check "R404"');
    expect(() => selectChecks(['R04'], ['R04'])).toThrow('no check is left');
  });
});
