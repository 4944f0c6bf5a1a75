/**
 * Scenario files: text in, a validated `Scenario` out, or one error that tells everything wrong
 * with its line and column. Strict: what is not known is refused, with the nearest known name.
 */
import { dirname } from 'node:path';
import { z } from 'zod';
import type { InvariantSpec, Scenario } from '../domain/scenario.ts';
import { mutationRoles } from '../protocols/protocol.ts';
import { invariantId, parseInvariants, type InvariantNames } from './scenario-invariants.ts';
import { checkScript } from './scenario-script.ts';
import { checkShape, durationShape, unknownWord } from '../files/shapes.ts';
import { parseSteps, stepWords } from './scenario-steps.ts';
import {
  joinErrors,
  readYaml,
  type FileKind,
  type Path,
  type Problem,
} from '../files/yaml-source.ts';

const scenarioFile: FileKind = {
  code: 'bad-scenario',
  consequence: 'nothing was run',
  meant: { renew: 'off' },
};
const maxSteps = 200;

/** Mutation roles that are not the protocol's but the resource's. */
export const resourceMutation = 'resource-accepts-any';
const controlRoles = [resourceMutation, ...mutationRoles] as const;

const verdict = z.enum(['held', 'violated', 'not-exercised', 'inconclusive']);
const word = z.string().min(1).max(200);
/** What is known to break is declared with the reason. */
const reasoned = z.strictObject({ verdict, because: word });
const workerName = z
  .string()
  .regex(/^[A-Za-z][\w-]{0,30}$/, 'a worker name is a letter, then letters, digits, "-" or "_"');

const fileShape = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,60}$/, 'lower-case letters, digits and "-"'),
  title: word,
  version: z.literal(1),
  seed: z.union([z.string().max(100), z.int()]).optional(),
  protocol: word,
  lock: z.strictObject({
    name: z.string().regex(/^[\w./:-]{1,120}$/, 'letters, digits and ._/:-'),
    lease: durationShape,
    renew: z.union([z.literal('off'), durationShape]).optional(),
  }),
  resource: z.strictObject({
    kind: z.enum(['orders', 'stock', 'effects', 'tasks']),
    accept: z.enum(['greater', 'greater-or-equal', 'any']).optional(),
  }),
  workers: z.array(workerName).min(1).max(64),
  worker: z.strictObject({ command: z.tuple([z.string().min(1)], z.string()) }).optional(),
  limits: z
    .strictObject({ run: durationShape.optional(), fault: durationShape.optional() })
    .optional(),
  steps: z.array(z.unknown()).min(1).max(maxSteps),
  invariants: z.array(z.unknown()).min(1).max(100),
  'report-only': z.array(z.unknown()).max(100).optional(),
  controls: z
    .array(z.strictObject({ mutate: z.enum(controlRoles), expect: z.record(word, verdict) }))
    .max(20)
    .optional(),
  expect: z.record(word, z.union([verdict, reasoned])).optional(),
});
type File = z.output<typeof fileShape>;

/**
 * Parses and validates the text of a scenario file.
 * @param file its path, as errors shall name it; a worker of its own runs in its folder
 * @throws {InputFileError} with every error found, each with line and column
 */
export function parseScenario(text: string, file: string, known: InvariantNames): Scenario {
  const source = readYaml(text, file, scenarioFile);
  const problems: Problem[] = [];
  const stop = (): never => {
    throw joinErrors(
      problems.map(({ path, atKey, message, hint }) => ({
        position: source.positionOf(path, atKey),
        message,
        ...(hint === undefined ? {} : { hint }),
      })),
      scenarioFile,
    );
  };
  const parsed = checkShape(fileShape, source.value, [], problems);
  if (parsed === undefined) return stop();
  checkWorkers(parsed.workers, problems);
  const lineOf = (path: Path): number => source.positionOf(path).line;
  const steps = parseSteps(parsed.steps, { workers: parsed.workers, lineOf }, problems);
  if (problems.length === 0) checkScript(steps, problems);
  const invariants = parseInvariants(parsed.invariants, 'invariants', known, problems);
  const reportOnly = parseInvariants(parsed['report-only'] ?? [], 'report-only', known, problems);
  checkExpectations(parsed, [...invariants, ...reportOnly], problems);
  if (problems.length > 0) return stop();
  return assemble({ ...parsed, folder: dirname(file) }, steps, invariants, reportOnly);
}

function assemble(
  file: File & { readonly folder: string },
  steps: Scenario['steps'],
  invariants: readonly InvariantSpec[],
  reportOnly: readonly InvariantSpec[],
): Scenario {
  const { name, title, protocol, lock, resource, workers, limits } = file;
  return {
    name,
    title,
    seed: file.seed === undefined ? undefined : String(file.seed),
    protocol,
    lock: {
      name: lock.name,
      leaseMs: lock.lease,
      renewEveryMs: lock.renew === 'off' ? undefined : lock.renew,
    },
    resource: { kind: resource.kind, accept: resource.accept ?? 'greater-or-equal' },
    workers,
    worker:
      file.worker === undefined ? undefined : { command: file.worker.command, folder: file.folder },
    limits: { runMs: limits?.run ?? 60_000, faultMs: limits?.fault ?? 30_000 },
    steps,
    invariants,
    reportOnly,
    controls: file.controls ?? [],
    ...expectationsOf(file.expect ?? {}),
  };
}

function expectationsOf(expect: NonNullable<File['expect']>): Pick<Scenario, 'expect' | 'reasons'> {
  const entries = Object.entries(expect).map(([name, value]) => ({
    name,
    ...(typeof value === 'string' ? { verdict: value, because: undefined } : value),
  }));
  return {
    expect: Object.fromEntries(entries.map(({ name, verdict: one }) => [name, one])),
    reasons: Object.fromEntries(
      entries.flatMap(({ name, because }) => (because === undefined ? [] : [[name, because]])),
    ),
  };
}

function checkWorkers(workers: readonly string[], problems: Problem[]): void {
  for (const [index, worker] of workers.entries()) {
    const path = ['workers', index];
    if (workers.indexOf(worker) !== index) {
      problems.push({ path, message: `worker "${worker}" is there twice` });
    }
    if (stepWords.includes(worker)) {
      problems.push({ path, message: `"${worker}" is a word of the step language` });
    }
  }
}

function checkExpectations(
  file: File,
  invariants: readonly InvariantSpec[],
  problems: Problem[],
): void {
  const names = invariants.map(invariantId);
  const check = (expect: Readonly<Record<string, unknown>>, path: Path): void => {
    for (const name of Object.keys(expect)) {
      if (names.includes(name)) continue;
      const problem = unknownWord(name, names, 'this scenario does not check');
      problems.push({ path: [...path, name], atKey: true, ...problem });
    }
  };
  check(file.expect ?? {}, ['expect']);
  for (const [name, value] of Object.entries(file.expect ?? {})) {
    if (value !== 'violated') continue;
    const message = `"${name}" is expected to be violated, and nobody says why`;
    const hint = `write ${name}: { verdict: violated, because: … }`;
    problems.push({ path: ['expect', name], message, hint });
  }
  for (const [index, { expect, mutate }] of (file.controls ?? []).entries()) {
    const path: Path = ['controls', index, 'expect'];
    check(expect, path);
    if (!Object.values(expect).includes('violated')) {
      const message = `control "${mutate}" expects no violation: it could not go red`;
      problems.push({ path, message });
    }
  }
}
