/**
 * `npm run bench`: measures how fast fencepost is, always beside a peer or a floor measured in the
 * same run. Not a test: nothing here passes or fails.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Bench, BenchOptions, Row, Sizes } from './bench.ts';
import { checkHistories } from './check-histories.ts';
import { etcdListing } from './etcd-listing.ts';
import { redisListing } from './redis-listing.ts';
import { toJson, toTable } from './report.ts';
import { startUp } from './start-up.ts';
import { zooKeeperListing } from './zookeeper-listing.ts';

const benches: readonly Bench[] = [
  startUp,
  redisListing,
  etcdListing,
  zooKeeperListing,
  checkHistories,
];

const full: Sizes = {
  redisKeys: 1_000_000,
  etcdKeys: 100_000,
  zookeeperLocks: 20_000,
  operations: 1_000_000,
  requests: 10_000,
};

const usage = `npm run bench -- [NAME…] [--scale F] [--runs N] [--json FILE]
  --scale F    fraction of the full sizes, e.g. 0.05 for a quick look (default 1)
  --runs N     how often everything is measured (default 3)
  --json FILE  also write the figures there
`;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      scale: { type: 'string', default: '1' },
      runs: { type: 'string', default: '3' },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    print(usage + benches.map(({ name, about }) => `  ${name.padEnd(12)} ${about}\n`).join(''));
    return;
  }
  const options: BenchOptions = {
    sizes: scaled(full, positive('--scale', values.scale)),
    runs: Math.ceil(positive('--runs', values.runs)),
    tell: (text) => process.stderr.write(`${text}\n`),
  };
  const rows: Row[] = [];
  for (const bench of chosen(positionals)) rows.push(...(await bench.run(options)));
  print(toTable(rows));
  if (values.json !== undefined) writeFileSync(values.json, toJson(rows, options));
}

function chosen(names: readonly string[]): readonly Bench[] {
  const strange = names.find((name) => !benches.some((bench) => bench.name === name));
  if (strange !== undefined) {
    throw new Error(
      `no benchmark "${strange}"; there are: ${benches.map((b) => b.name).join(' ')}`,
    );
  }
  return names.length === 0 ? benches : benches.filter(({ name }) => names.includes(name));
}

function scaled(sizes: Sizes, scale: number): Sizes {
  const at = (size: number): number => Math.max(1, Math.round(size * scale));
  return {
    redisKeys: at(sizes.redisKeys),
    etcdKeys: at(sizes.etcdKeys),
    zookeeperLocks: at(sizes.zookeeperLocks),
    operations: at(sizes.operations),
    requests: at(sizes.requests),
  };
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (value > 0) return value;
  throw new Error(`${option} wants a number above 0, not "${text}"`);
}

function print(text: string): void {
  process.stdout.write(text);
}

await main();
