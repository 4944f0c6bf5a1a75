/**
 * The compact step syntax: `- A: acquire`, `- A: { close-order: o-42, park: before-send }`,
 * `- pause: A`, `- wait: { lock: absent, within: 2x lease }`; each with `id` and `expect` if wanted.
 */
import { z } from 'zod';
import type { Step, StepExpectation } from '../domain/scenario.ts';
import { parseSpan } from '../domain/span.ts';
import { findFault, faultNames } from './faults/registry.ts';
import { businessActions, parkPoints, type BusinessAction } from './worker-protocol.ts';
import { checkShape, entriesOf, spanShape, unknownWord } from '../files/shapes.ts';
import type { Path, Problem } from '../files/yaml-source.ts';

/** First words of steps that are not a worker's name. */
export const stepWords: readonly string[] = [
  'wait',
  'resume',
  'end',
  'id',
  'expect',
  ...faultNames,
];

const lockVerbs = ['acquire', 'renew', 'confirm', 'release', 'go'] as const;
type LockVerb = (typeof lockVerbs)[number];

const expectation = z.strictObject({
  outcome: z.enum(['ok', 'fail', 'unknown']).optional(),
  code: z.string().optional(),
  accepted: z.boolean().optional(),
});

const workerName = z.string();
const name = z.string().min(1).max(200);
const waitShape = z.strictObject({
  lock: z.enum(['absent', 'held-by', 'free-or-other']),
  worker: workerName.optional(),
  within: spanShape,
  cause: z.enum(['expired', 'any']).optional(),
});
const businessKeys = {
  'close-order': name.optional(),
  'pay-order': name.optional(),
  'release-stock': name.optional(),
  write: name.optional(),
  effect: name.optional(),
  'claim-task': name.optional(),
  checkpoint: name.optional(),
} satisfies Record<BusinessAction, unknown>;
const faultHead = z.strictObject({ worker: workerName, lifetime: spanShape.optional() });
const actionShape = z.strictObject({
  do: z.enum(lockVerbs).optional(),
  wait: spanShape.optional(),
  ...businessKeys,
  park: z.enum(parkPoints).optional(),
  operation: name.optional(),
  value: z.string().max(10_000).optional(),
  'self-check': z.boolean().optional(),
});

/** A step before it has its id. */
type Draft = Step extends infer S ? (S extends Step ? Omit<S, 'id' | 'line'> : never) : never;

export interface StepNames {
  readonly workers: readonly string[];
  /** Line of a step, for messages at run time. */
  readonly lineOf: (path: Path) => number;
}

/** Parses every step; what is wrong goes to `problems`, and such a step is left out. */
export function parseSteps(
  raw: readonly unknown[],
  names: StepNames,
  problems: Problem[],
): readonly Step[] {
  const steps: Step[] = [];
  const taken = new Set<string>();
  for (const [index, value] of raw.entries()) {
    const path = ['steps', index];
    const draft = parseStep(value, path, names, problems);
    if (draft === undefined) continue;
    const id = stepId(value, draft, taken, path, problems);
    taken.add(id);
    steps.push({ ...draft, id, line: names.lineOf(path) });
  }
  return steps;
}

function parseStep(
  raw: unknown,
  path: Path,
  names: StepNames,
  problems: Problem[],
): Draft | undefined {
  const entries = entriesOf(raw);
  if (entries === undefined) {
    problems.push({ path, message: 'a step is a map', hint: 'such as `- A: acquire`' });
    return undefined;
  }
  const head = headOf(entries, path, names, problems);
  if (head === undefined) return undefined;
  const [key, value] = head;
  const at = { path: [...path, key], names, problems };
  const draft = names.workers.includes(key)
    ? workerStep(key, value, at)
    : (otherSteps[key] ?? faultStep)(value, at, key);
  const expect = readExpectation(entries, path, problems);
  if (draft === undefined || expect === undefined) return draft;
  if (hasReply(draft)) return { ...draft, expect };
  const message = 'only a step of a worker has a reply to expect something of';
  problems.push({ path: [...path, 'expect'], atKey: true, message });
  return undefined;
}

/** The one entry that says what the step does. */
function headOf(
  entries: readonly (readonly [string, unknown])[],
  path: Path,
  names: StepNames,
  problems: Problem[],
): readonly [string, unknown] | undefined {
  const known = [...names.workers, ...stepWords];
  const heads = entries.filter(([key]) => key !== 'id' && key !== 'expect');
  const unknown = heads.filter(([key]) => !known.includes(key));
  for (const [key] of unknown) {
    problems.push({ path: [...path, key], atKey: true, ...unknownWord(key, known) });
  }
  if (unknown.length > 0) return undefined;
  if (heads.length === 1) return heads[0];
  const message = heads.length === 0 ? 'this step does nothing' : 'a step does one thing';
  problems.push({ path, message, hint: 'write one worker, fault or `wait` per step' });
  return undefined;
}

type ReplyDraft = Exclude<Draft, { kind: 'fault' | 'end-fault' | 'wait' }>;

function hasReply(draft: Draft): draft is ReplyDraft {
  return draft.kind !== 'fault' && draft.kind !== 'end-fault' && draft.kind !== 'wait';
}

interface At {
  readonly path: Path;
  readonly names: StepNames;
  readonly problems: Problem[];
}

function workerStep(worker: string, value: unknown, at: At): Draft | undefined {
  const verb = lockVerbs.find((known) => known === value);
  if (verb !== undefined) return { kind: verb, worker };
  if (typeof value === 'string') {
    const known = [...lockVerbs, ...businessActions];
    at.problems.push({ path: at.path, ...unknownWord(value, known) });
    return undefined;
  }
  const parsed = checkShape(actionShape, value, at.path, at.problems);
  if (parsed === undefined) return undefined;
  const actions = businessActions.filter((action) => parsed[action] !== undefined);
  const [action, more] = actions;
  if (more !== undefined || (action === undefined) === (parsed.do === undefined)) {
    const hint = `one of do, ${businessActions.join(', ')}`;
    at.problems.push({ path: at.path, message: 'a worker step does one thing', hint });
    return undefined;
  }
  const park = parsed.park === undefined ? {} : { park: parsed.park };
  if (parsed.do !== undefined) return lockStep(worker, parsed.do, parsed.wait, park, at);
  if (action === undefined) return undefined;
  return {
    kind: 'business',
    worker,
    action,
    subject: String(parsed[action]),
    ...park,
    ...(parsed.operation === undefined ? {} : { operation: parsed.operation }),
    ...(parsed.value === undefined ? {} : { value: parsed.value }),
    ...(parsed['self-check'] === undefined ? {} : { selfCheck: parsed['self-check'] }),
  };
}

function lockStep(
  worker: string,
  verb: LockVerb,
  wait: z.output<typeof spanShape> | undefined,
  park: { readonly park?: string },
  at: At,
): Draft {
  if (wait !== undefined && verb !== 'acquire') {
    at.problems.push({ path: [...at.path, 'wait'], atKey: true, message: 'only acquire waits' });
  }
  if (verb === 'go') return { kind: 'go', worker };
  if (verb === 'acquire') {
    return { kind: verb, worker, ...park, ...(wait === undefined ? {} : { wait }) };
  }
  return { kind: verb, worker, ...park };
}

type OtherStep = (value: unknown, at: At, key: string) => Draft | undefined;

const otherSteps: Readonly<Record<string, OtherStep>> = {
  wait(value, at) {
    const parsed = checkShape(waitShape, value, at.path, at.problems);
    if (parsed === undefined) return undefined;
    const { lock, worker, within, cause } = parsed;
    if (worker !== undefined) needWorker(worker, [...at.path, 'worker'], at);
    if ((lock === 'absent') !== (worker === undefined)) {
      const message = `${lock} ${worker === undefined ? 'names the worker' : 'names no worker'}`;
      at.problems.push({ path: at.path, message });
    }
    return {
      kind: 'wait',
      until: lock,
      within,
      cause: cause ?? (lock === 'held-by' ? 'any' : 'expired'),
      ...(worker === undefined ? {} : { worker }),
    };
  },
  resume(value, at) {
    const worker = needWorker(value, at.path, at);
    return worker === undefined ? undefined : { kind: 'end-fault', fault: 'pause', worker };
  },
  end(value, at) {
    if (typeof value === 'string') return { kind: 'end-fault', fault: value };
    at.problems.push({ path: at.path, message: '`end` names the id of the step that began it' });
    return undefined;
  },
};

function faultStep(value: unknown, at: At, key: string): Draft | undefined {
  const fault = findFault(key);
  if (fault === undefined) return undefined;
  const { worker: who, lifetime: span, ...rest } = fields(value);
  const head = checkShape(faultHead, { worker: who, lifetime: span }, at.path, at.problems);
  const options = checkShape(fault.options, rest, at.path, at.problems);
  if (head === undefined || options === undefined) return undefined;
  const place = typeof value === 'string' ? at.path : [...at.path, 'worker'];
  const worker = needWorker(head.worker, place, at);
  if (worker === undefined) return undefined;
  const lifetime = head.lifetime ?? parseSpan('3x lease');
  return { kind: 'fault', fault: key, worker, options: plainOptions(options), lifetime };
}

/** `pause: A` means `pause: { worker: A }`. */
function fields(value: unknown): Readonly<Record<string, unknown>> {
  const entries = entriesOf(value);
  return entries === undefined ? { worker: value } : Object.fromEntries(entries);
}

function plainOptions(
  options: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string | number | boolean>> {
  const plain: Record<string, string | number | boolean> = {};
  for (const [key, value] of Object.entries(options)) {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      plain[key] = value;
    }
  }
  return plain;
}

function needWorker(value: unknown, path: Path, at: At): string | undefined {
  if (typeof value === 'string' && at.names.workers.includes(value)) return value;
  if (typeof value === 'string') at.problems.push({ path, ...unknownWorker(value, at.names) });
  else
    at.problems.push({ path, message: 'this names a worker', hint: at.names.workers.join(', ') });
  return undefined;
}

function unknownWorker(worker: string, names: StepNames): Omit<Problem, 'path'> {
  return {
    message: `there is no worker "${worker}"`,
    hint: `workers: ${names.workers.join(', ')}`,
  };
}

function readExpectation(
  entries: readonly (readonly [string, unknown])[],
  path: Path,
  problems: Problem[],
): StepExpectation | undefined {
  const entry = entries.find(([key]) => key === 'expect');
  if (entry === undefined) return undefined;
  const parsed = checkShape(expectation, entry[1], [...path, 'expect'], problems);
  if (parsed === undefined) return undefined;
  return {
    ...(parsed.outcome === undefined ? {} : { outcome: parsed.outcome }),
    ...(parsed.code === undefined ? {} : { code: parsed.code }),
    ...(parsed.accepted === undefined ? {} : { accepted: parsed.accepted }),
  };
}

const idShape = /^[\w.-]{1,60}$/;

function stepId(
  raw: unknown,
  draft: Draft,
  taken: ReadonlySet<string>,
  path: Path,
  problems: Problem[],
): string {
  const own = typeof raw === 'object' && raw !== null && 'id' in raw ? raw.id : undefined;
  if (own !== undefined) {
    const at = { path: [...path, 'id'] };
    if (typeof own !== 'string' || !idShape.test(own)) {
      problems.push({ ...at, message: 'an id is made of letters, digits, ".", "-" and "_"' });
    } else if (taken.has(own)) problems.push({ ...at, message: `the id "${own}" is taken` });
    else return own;
  }
  const base = defaultId(draft);
  for (let number = 1; ; number += 1) {
    const id = number === 1 ? base : `${base}-${number}`;
    if (!taken.has(id)) return id;
  }
}

function defaultId(draft: Draft): string {
  const who = 'worker' in draft ? `${draft.worker}-` : '';
  switch (draft.kind) {
    case 'business':
      return `${who}${draft.action}`;
    case 'fault':
      return `${who}${draft.fault}`;
    case 'end-fault':
      return `${who}end-${draft.fault}`;
    case 'wait':
      return `${who}wait-${draft.until}`;
    case 'acquire':
    case 'renew':
    case 'confirm':
    case 'release':
    case 'go':
      return `${who}${draft.kind}`;
  }
}
