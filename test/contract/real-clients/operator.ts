/**
 * An operator before a lock that real clients hold and wait for: looks through the adapter, then
 * plans and executes a release with the built program, as it would be typed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { z } from 'zod';
import type { Backend } from '../../../src/backends/backend.ts';
import { openBackend } from '../../../src/backends/registry.ts';
import type { LockDetail } from '../../../src/domain/lock.ts';
import { parseTarget } from '../../../src/domain/target.ts';
import { parseText } from '../../../src/domain/text.ts';
import { fencepost } from '../../helpers/fencepost.ts';
import type { LabHandle } from '../../helpers/servers.ts';
import { forever } from '../backend/subject.ts';
import { testOptions } from '../redis/redis-seeder.ts';

const planSchema = z.looseObject({
  expect: z.string(),
  refusedBy: z.array(z.string()),
  preview: z.looseObject({
    deletes: z.array(z.looseObject({ record: z.string() })),
    wakes: z.array(z.string()),
  }),
});
export type Plan = z.output<typeof planSchema>;

const executedSchema = z.looseObject({
  outcome: z.string(),
  result: z.looseObject({ outcome: z.string() }),
  verification: z.looseObject({ outcome: z.string() }),
});
export type Executed = z.output<typeof executedSchema>;

export interface Operator {
  look(name: string): Promise<LockDetail>;
  /** What a release of exactly the grant seen would do, and which guards want an operator's word. */
  plan(seen: LockDetail): Promise<Plan>;
  /**
   * Gives that word for these guards only, and no more flags than the plan asks for. Then watches
   * for up to 5 s who holds it next.
   */
  execute(seen: LockDetail, overrides: readonly string[]): Promise<Executed>;
}

/** Registers hooks. Nobody watches for renewals: real clients do renew. */
export function useOperator(lab: LabHandle): Operator {
  let folder = '';
  let backend: Backend | undefined;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fencepost-real-clients-'));
    backend = await openBackend(parseTarget(lab.target), testOptions);
  });
  afterAll(async () => {
    await backend?.close();
    await rm(folder, { recursive: true, force: true });
  });
  const release = async (
    { ref, identity }: LockDetail,
    exitCode: number,
    flags: readonly string[],
  ): Promise<unknown> => {
    const grant = ['--expect', identity?.expect ?? '', '--observe', 'off'];
    const ran = await fencepost(['release', ref.name, ...grant, ...flags, '-o', 'json'], {
      FENCEPOST_TARGET: lab.target,
      XDG_STATE_HOME: folder,
    });
    expect(ran).toMatchObject({ code: exitCode, stderr: '' });
    return JSON.parse(ran.stdout);
  };
  return {
    async look(name) {
      const seen = await backend?.inspect({ name: parseText(name) }, forever);
      if (seen === undefined) throw new Error(`${name} is not there`);
      return seen;
    },
    plan: async (seen) => planSchema.parse(await release(seen, 5, [])),
    async execute(seen, overrides) {
      const words = overrides.map((guard) => `--override=${guard}=its owner was asked`);
      const flags = ['--execute', '--confirm', seen.ref.name, '--verify', '5s', ...words];
      return executedSchema.parse(await release(seen, 0, flags));
    },
  };
}
