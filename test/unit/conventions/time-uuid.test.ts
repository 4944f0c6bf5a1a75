/** What a token that is a time-based UUID tells: when it was made and where. */
import { expect, test } from 'vitest';
import { machineOf, madeAtMs, timeUuidHex } from '../../../src/conventions/time-uuid.ts';

test('the moment and the machine are read from a token as redis-py makes it', () => {
  // Dumped from a server while redis-py held its lock.
  const token = 'ec0eacc2edff11f192d602fc00000001';
  expect(new Date(madeAtMs(token) ?? 0).toISOString()).toBe('2026-12-02T03:24:45.802Z');
  expect(machineOf(token)).toMatchObject({ value: { host: 'MAC 02:fc:00:00:00:01' } });
});

test('a node id of random bits names no machine', () => {
  expect(machineOf('ec0eacc2edff11f192d603fc00000001').kind).toBe('unknown');
  expect(machineOf('worker').kind).toBe('unknown');
});

test.each([
  ['5f1d3a2ab0c241eea1b20242ac120002', 'another version'],
  ['5f1d3a2ab0c211eec1b20242ac120002', 'another variant'],
  ['5f1d3a2ab0c215eea1b20242ac120002', 'a time far from ours'],
  ['5F1D3A2AB0C211EEA1B20242AC120002', 'capitals'],
])('%s is none: %s', (token) => {
  expect(timeUuidHex.test(token)).toBe(false);
  expect(madeAtMs(token)).toBeUndefined();
});
