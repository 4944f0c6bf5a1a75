/** The shape of `run.json`, checked when a finished run is read again. */
import { z } from 'zod';
import type { ArmReport, RunReport } from '../domain/run-report.ts';

const verdict = z.enum(['held', 'violated', 'not-exercised', 'inconclusive']);
const outcome = z.enum(['passed', 'failed', 'inconclusive', 'interrupted', 'unreachable']);
/** JSON has no undefined: a field that was not known is left out. */
const maybeNumber = z.number().optional();

const evidence = z.object({
  source: z.string(),
  atMs: maybeNumber,
  fact: z.string(),
  proves: z.string(),
  holds: z.boolean(),
});

const step = z.object({
  id: z.string(),
  line: z.number(),
  text: z.string(),
  status: z.enum(['done', 'mismatch', 'failed', 'not-reached']),
  atMs: maybeNumber,
  note: z.string(),
});

const fault = z.object({
  id: z.string(),
  fault: z.string(),
  target: z.string(),
  beganAtMs: z.number(),
  endedAtMs: maybeNumber,
  proven: z.boolean(),
  evidence: z.array(evidence),
});

const invariant = z.object({
  invariant: z.string(),
  bound: z.string().optional(),
  verdict,
  expected: verdict,
  because: z.string().optional(),
  reportOnly: z.boolean(),
  exercised: z.number(),
  note: z.string(),
  witness: z.array(z.number()),
  witnessLines: z.array(z.string()),
});

const arm: z.ZodType<ArmReport> = z.object({
  arm: z.string(),
  folder: z.string(),
  tookMs: z.number(),
  steps: z.array(step),
  faults: z.array(fault),
  invariants: z.array(invariant),
  timeline: z.array(
    z.object({
      atMs: z.number(),
      text: z.string(),
      result: z.string(),
      tone: z.enum(['plain', 'fault', 'refused', 'bad']),
    }),
  ),
  problems: z.array(z.string()),
  schedulerLagMs: z.number(),
  shortfalls: maybeNumber,
});
const maybeArm = arm.optional();

export const runReportShape: z.ZodType<RunReport> = z.object({
  schemaVersion: z.literal(1),
  runId: z.string(),
  tool: z.string(),
  startedAt: z.string(),
  tookMs: z.number(),
  seed: z.string(),
  planHash: z.string(),
  outcome,
  exitCode: z.number(),
  undoFailed: z.boolean(),
  cells: z.array(
    z.object({
      scenario: z.string(),
      title: z.string(),
      column: z.string(),
      protocol: z.string(),
      target: z.string(),
      round: z.number(),
      seed: z.string().optional(),
      outcome,
      problems: z.array(z.string()),
      main: maybeArm,
      controls: z.array(
        z.object({
          mutate: z.string(),
          result: z.enum(['went-red', 'stayed-green', 'prevented', 'not-run', 'inconclusive']),
          note: z.string(),
          arm: maybeArm,
        }),
      ),
    }),
  ),
});
