/** The shipped scenario of each fault, by the built program. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fencepost } from '../helpers/fencepost.ts';
import { inTime } from '../helpers/in-time.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fencepost-faults-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

test.each([
  ['renewals-starve', 'redis', /A STARVE +none for 200 ms, state [RS]/],
  ['requests-cut', 'etcd', /A CUT .*to-server: 0 bytes forwarded, [1-9]\d* dropped/],
  ['replies-cut', 'zookeeper', /A CUT .*to-worker: 0 bytes forwarded, [1-9]\d* dropped/],
  ['renewals-late', 'redis', /A DELAY by 4000ms way to-server +to-server: [1-9]\d* bytes seen/],
  ['request-lost', 'etcd', /A releases +outcome unknown/],
  ['reply-lost', 'zookeeper', /A acquires +outcome unknown[^]*A confirms +ok/],
  ['record-removed', 'redis', /A REMOVE-RECORD +DEL answered 1 with \d+ ms left/],
  ['lease-revoked', 'etcd', /A REVOKE-LEASE +lease [0-9a-f]+: TTL \d+ ms before, none after/],
  ['session-expired', 'zookeeper', /A EXPIRE-SESSION +session 0x[0-9a-f]+ is expired/],
])('%s passes on %s, its fault proven and its control red', async (name, kind, evidence) => {
  const file = fileURLToPath(new URL(`../../scenarios/${name}.yaml`, import.meta.url));
  const env = { XDG_STATE_HOME: join(folder, 'state') };
  const args = ['run', file, '--lab', '--matrix', kind, '--out', folder];
  const ran = await inTime(() => fencepost(args, env));
  expect(ran.code, ran.stdout + ran.stderr).toBe(0);
  expect(ran.stdout).toMatch(evidence);
  expect(ran.stdout).toContain('every fault proven');
});

test('a fault that a protocol cannot have is refused with the reason before anything runs', async () => {
  const file = fileURLToPath(new URL('../../scenarios/lease-revoked.yaml', import.meta.url));
  const env = { XDG_STATE_HOME: join(folder, 'state') };
  const text = readFileSync(file, 'utf8').replace('protocol: etcd-lease', 'protocol: fenced');
  const other = join(folder, 'other.yaml');
  writeFileSync(other, text);
  const ran = await fencepost(['run', other, '--lab', '--matrix', 'redis', '--out', folder], env);
  expect(ran.stderr).toMatch(/line \d+, revoke-lease: only etcd has leases/);
  expect(ran.code).toBe(2);
  const live = ['run', file, '--target', 'etcd://127.0.0.1:1', '--dry-run'];
  const refused = await fencepost(live, env);
  expect(refused.stderr).toMatch(/revoke-lease: it acts on the server, which only --lab allows/);
  expect(refused.code).toBe(2);
});
