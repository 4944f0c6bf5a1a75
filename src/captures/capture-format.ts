/**
 * The file of `ls --save`: JSON Lines, a header, one line a lock, and an end line that shows that
 * nothing was cut off. It names targets as they may be printed, never a password.
 */
import { z } from 'zod';
import type { CaptureEnd, CaptureFacts } from '../domain/capture.ts';
import { knownShape, lockShape, text } from './lock-shape.ts';

export const captureFormat = 'fencepost-capture';
export const captureVersion = 1;

export const headerShape: z.ZodType<CaptureFacts> = z.object({
  kind: z.literal('header'),
  format: z.literal(captureFormat),
  schemaVersion: z.literal(captureVersion),
  takenAt: z
    .string()
    .refine((at) => !Number.isNaN(Date.parse(at)), 'a time as RFC 3339')
    .transform((at) => new Date(at).toISOString()),
  tool: text,
  query: z.object({
    pattern: text.exactOptional(),
    lockPatterns: z.array(text),
    all: z.boolean(),
    conventions: z.array(text).exactOptional(),
  }),
  targets: z
    .array(
      z.object({
        display: text,
        backend: text,
        version: knownShape(text),
        topology: knownShape(text),
        clusterId: knownShape(text),
      }),
    )
    .min(1),
});

const targetIndex = z.int().nonnegative();
const count = z.int().nonnegative();

export const lockLineShape = z.object({
  kind: z.literal('lock'),
  target: targetIndex,
  lock: lockShape,
});

export const endShape: z.ZodType<CaptureEnd> = z.object({
  kind: z.literal('end'),
  locks: count,
  tallies: z.array(
    z.object({
      target: targetIndex,
      read: count,
      others: count,
      hidden: count,
      holes: z.array(text),
    }),
  ),
});

/** 64-bit numbers as decimal strings. */
export function toLine(value: object): string {
  const json = JSON.stringify(value, (_key, field: unknown) =>
    typeof field === 'bigint' ? field.toString() : field,
  );
  return `${json}\n`;
}
