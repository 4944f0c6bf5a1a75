import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { faultNames } from '../../../src/chaos/faults/registry.ts';

const root = new URL('../../../', import.meta.url);
const rows = readFileSync(new URL('README.md', root), 'utf8')
  .split('### Faults')[1]
  ?.split('### ')[0]
  ?.matchAll(/^\| `([\w-]+)` .*\| (.*) \|$/gm);

test('the README has a row for every fault, and the scenarios that it names are there', () => {
  const table = [...(rows ?? [])];
  expect(table.map(([, name]) => name).sort()).toEqual([...faultNames].sort());
  const scenarios = table.flatMap(([, , cell = '']) => [...cell.matchAll(/`([\w-]+)`/g)]);
  for (const [, name] of scenarios) {
    expect(existsSync(new URL(`scenarios/${name ?? ''}.yaml`, root)), name).toBe(true);
  }
});
