/**
 * Reads a history from JSON Lines. Anything that is not a complete, well-formed history is an error
 * with its place: a history that was cut off must never pass for one that ended.
 */
import type { z } from 'zod';
import { InputFileError } from '../domain/errors.ts';
import type { EventSource, History, HistoryEvent, HistoryHeader } from '../domain/event.ts';
import { nearestName } from '../domain/nearest.ts';
import { lineSchemas, type EventKind, type LineKind, type RawEvent } from './history-schema.ts';

export interface ParsedHistory {
  readonly history: History;
  /** What was filled in for a history of another program, for people. */
  readonly notes: readonly string[];
}

interface Line {
  readonly text: string;
  readonly file: string;
  /** 1-based. */
  readonly number: number;
  /** The last line, and no line break after it. */
  readonly unfinished: boolean;
}

const eventSchemas: Readonly<Record<EventKind, z.ZodType<RawEvent>>> = lineSchemas;
const eventKinds = ['invoke', 'complete', 'notice', 'fault', 'observation'] as const;

/**
 * Parses a whole file.
 * @param file its name for messages
 * @throws {InputFileError} with file, line and column: `empty-history`, `history-cut-off`,
 *   `bad-history-line`, `unknown-field`, `unknown-kind`, `no-header`
 */
export function parseHistory(content: string, file: string): ParsedHistory {
  const lines = linesOf(content, file);
  const first = lines[0];
  if (first === undefined) {
    throw new InputFileError(
      'the history is empty',
      { file, line: 1, column: 1 },
      { code: 'empty-history', hint: 'a history begins with a header line; see --schema' },
    );
  }
  const header = parseHeader(first);
  const raw = lines.slice(1).map((line) => ({ line, event: parseEvent(line) }));
  return { history: { header, ...number(raw) }, notes: notesOf(raw.map(({ event }) => event)) };
}

function linesOf(content: string, file: string): readonly Line[] {
  const parts = content.replace(/^\uFEFF/, '').split('\n');
  return parts.flatMap((part, index) => {
    const text = part.replace(/\r$/, '');
    if (text.trim() === '') return [];
    return [{ text, file, number: index + 1, unfinished: index === parts.length - 1 }];
  });
}

function parseHeader(line: Line): HistoryHeader {
  const value = parseJson(line);
  const kind = kindOf(value);
  if (kind !== 'header') {
    fail(line, 'kind', 'no-header', 'the first line is not a header', {
      hint: '{"schemaVersion":1,"kind":"header","clock":"NAME"} comes first; see --schema',
    });
  }
  return validate(lineSchemas.header, 'header', value, line);
}

function parseEvent(line: Line): RawEvent {
  const value = parseJson(line);
  const kind = kindOf(value);
  const known = eventKinds.find((one) => one === kind);
  if (known === undefined) {
    const near = kind === undefined ? undefined : nearestName(kind, eventKinds);
    fail(line, 'kind', 'unknown-kind', kindMessage(kind), {
      hint: near === undefined ? `known: ${eventKinds.join(', ')}` : `did you mean "${near}"?`,
    });
  }
  return validate(eventSchemas[known], known, value, line);
}

function kindMessage(kind: string | undefined): string {
  if (kind === 'header') return 'a second header: one file is one history';
  return kind === undefined ? 'the event has no kind' : `unknown kind "${kind}"`;
}

function kindOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return undefined;
  return typeof value.kind === 'string' ? value.kind : undefined;
}

function parseJson(line: Line): unknown {
  try {
    return JSON.parse(line.text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const cut = line.unfinished;
    throw new InputFileError(
      cut ? 'the history is cut off in its last line' : 'this line is not JSON',
      { file: line.file, line: line.number, column: syntaxColumn(reason, line.text) },
      {
        code: cut ? 'history-cut-off' : 'bad-history-line',
        hint: cut
          ? 'its writer ended early: what followed is not known, so nothing can be judged'
          : 'one JSON object a line; see --schema',
        cause: error,
      },
    );
  }
}

function syntaxColumn(reason: string, text: string): number {
  const position = /position (\d+)/.exec(reason)?.[1];
  return position === undefined ? text.length + 1 : Number(position) + 1;
}

function validate<Value>(
  schema: z.ZodType<Value>,
  kind: LineKind,
  value: unknown,
  line: Line,
): Value {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  // A misspelt field is also a missing one: the misspelling is the more helpful of the two.
  const stranger = issues.find(({ code }) => code === 'unrecognized_keys');
  if (stranger?.code === 'unrecognized_keys') {
    const key = stranger.keys[0] ?? '';
    const fields = Object.keys(lineSchemas[kind].shape);
    const near = nearestName(key, fields);
    fail(line, key, 'unknown-field', `unknown field "${key}" of a ${kind} event`, {
      hint: near === undefined ? `known: ${fields.join(', ')}` : `did you mean "${near}"?`,
    });
  }
  const issue = issues[0];
  const field = String(issue?.path[0] ?? '');
  fail(line, field, 'bad-history-line', `${field || 'event'}: ${issue?.message ?? 'is wrong'}`, {
    hint: `see --schema, kind "${kind}"`,
  });
}

/** Throws at the place where `field` stands in the line, or at the line's begin. */
function fail(
  line: Line,
  field: string,
  code: string,
  message: string,
  details: { readonly hint: string },
): never {
  const at = line.text.indexOf(JSON.stringify(field));
  const position = { file: line.file, line: line.number, column: Math.max(0, at) + 1 };
  throw new InputFileError(message, position, { code, ...details });
}

interface RawLine {
  readonly line: Line;
  readonly event: RawEvent;
}

/** Keeps the given numbers; without any, numbers by time, in the order of the file where equal. */
function number(raw: readonly RawLine[]): { readonly events: readonly HistoryEvent[] } {
  const without = raw.find(({ event }) => event.seq === undefined);
  if (without === undefined) {
    const events = raw.map(({ event }) => finish(event, event.seq ?? 0));
    return { events: events.sort((a, b) => a.seq - b.seq) };
  }
  if (raw.some(({ event }) => event.seq !== undefined)) {
    fail(without.line, 'seq', 'bad-history-line', 'this event has no seq, but others have', {
      hint: 'give every event a seq, or none',
    });
  }
  const ordered = raw.map(({ event }) => event).sort(byTimeOfOneClock);
  return { events: ordered.map((event, seq) => finish(event, seq)) };
}

/** Events of different clocks have no common time: each clock's events stay together. */
function byTimeOfOneClock(a: RawEvent, b: RawEvent): number {
  if (a.clock !== b.clock) return (a.clock ?? '') < (b.clock ?? '') ? -1 : 1;
  return a.atNs < b.atNs ? -1 : a.atNs > b.atNs ? 1 : 0;
}

function finish(event: RawEvent, seq: number): HistoryEvent {
  return { ...event, seq, source: event.source ?? defaultSource(event) };
}

function defaultSource(event: RawEvent): EventSource {
  switch (event.kind) {
    case 'fault':
      return 'driver';
    case 'observation':
      return event.resource === undefined ? 'service' : 'resource';
    case 'invoke':
    case 'complete':
    case 'notice':
      return 'worker';
  }
}

function notesOf(events: readonly RawEvent[]): readonly string[] {
  const notes: string[] = [];
  const clocks = new Set(events.map(({ clock }) => clock ?? "the header's clock"));
  if (events.some(({ seq }) => seq === undefined)) {
    notes.push(`events carry no seq: numbered by their time on ${[...clocks].join(', ')}`);
  }
  return notes;
}
