/** What the end-to-end tests of `release` share: a Redis, locks on it, an audit log of their own. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { z } from 'zod';
import type { LabSpec } from '../../src/lab/lab.ts';
import { rawRedis } from '../contract/redis/redis-seeder.ts';
import { fencepost, type Ran } from '../helpers/fencepost.ts';
import { useLab, type LabHandle } from '../helpers/servers.ts';
import { onTerminal, type TerminalSession } from '../helpers/terminal.ts';

/** A token as libraries make them: names no host, is nobody else's. */
export const token = '9f31c0aa55e2417d8b3c7e10d2f4a6b8';
export const nextToken = '2b77e1d09c4f4a1e9a5d3c6b8f0e1d2c';

/** The owner cannot be seen here; somebody checked. */
export const checked = ['--override', 'owner-connection=the pod is gone'] as const;
/** Nobody watches for long in these tests. */
export const unwatched = ['--observe', 'off', '--override', 'no-renewal=test'] as const;
export const briefly = ['--verify', '300ms'] as const;

const auditLine = z.looseObject({
  kind: z.string(),
  lock: z.string(),
  outcome: z.string().optional(),
  previous: z.string(),
});

export interface ReleaseStage {
  readonly lab: LabHandle;
  readonly raw: Redis;
  /** The token that `show` prints for a lock. */
  expect(name: string): Promise<string>;
  /** `fencepost release ARGS` without a terminal. */
  release(...args: readonly string[]): Promise<Ran>;
  releaseOnTerminal(...args: readonly string[]): TerminalSession;
  /** `--execute` with everything that a script must give. */
  consent(name: string): Promise<readonly string[]>;
  readonly auditFile: string;
  auditLines(): Promise<readonly z.output<typeof auditLine>[]>;
}

/** Registers the hooks; the members work inside tests. The server and the log are empty for each test. */
export function useReleaseStage(spec: Partial<LabSpec> = {}): ReleaseStage {
  const lab = useLab({ system: 'redis', ...spec });
  let raw: Redis | undefined;
  let folder = '';
  const client = (): Redis => {
    if (raw === undefined) throw new Error('the stage is set only inside tests and hooks');
    return raw;
  };
  beforeAll(() => {
    raw = rawRedis(lab.target);
  });
  beforeEach(async () => {
    await client().flushall();
    folder = await mkdtemp(join(tmpdir(), 'fencepost-release-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  afterAll(() => {
    client().disconnect();
  });
  const env = (): Record<string, string> => ({
    FENCEPOST_TARGET: lab.target,
    XDG_STATE_HOME: folder,
  });
  const stage: ReleaseStage = {
    lab,
    get raw() {
      return client();
    },
    async expect(name) {
      const { stdout } = await fencepost(['show', name, '--observe', 'off', '-o', 'json'], env());
      return z.object({ expect: z.string() }).parse(JSON.parse(stdout)).expect;
    },
    release: (...args) => fencepost(['release', ...args], env()),
    releaseOnTerminal: (...args) => onTerminal(['release', ...args], env()),
    async consent(name) {
      return ['--execute', '--expect', await stage.expect(name), '--confirm', name];
    },
    get auditFile() {
      return join(folder, 'fencepost', 'releases.jsonl');
    },
    async auditLines() {
      const text = await readFile(stage.auditFile, 'utf8').catch(() => '');
      const rows = text.split('\n').filter((row) => row !== '');
      return rows.map((row) => auditLine.parse(JSON.parse(row)));
    },
  };
  return stage;
}
