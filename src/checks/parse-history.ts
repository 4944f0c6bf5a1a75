/**
 * Reads a history from JSON Lines. Anything that is not a complete, well-formed history is an error
 * with its place: a history that was cut off must never pass for one that ended.
 */
import type { z } from 'zod';
import { InputFileError } from '../domain/errors.ts';
import type { EventSource, History, HistoryEvent, HistoryHeader } from '../domain/event.ts';
import { nearestName } from '../domain/nearest.ts';
import { lineSchemas, type EventKind, type LineKind, type RawEvent } from './history-schema.ts';
import { readEvent } from './read-event.ts';

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
  const parser = new HistoryParser(file);
  parser.add(content.replace(/^\uFEFF/, ''));
  return parser.finish();
}

/** Parses a history piece by piece, so that its text is never in memory as a whole. */
export class HistoryParser {
  readonly #file: string;
  readonly #events: RawEvent[] = [];
  #header: HistoryHeader | undefined;
  #lines = 0;
  /** Begin of a line whose end has not come yet. */
  #rest = '';
  #unnumbered: Line | undefined;
  #numbered = false;

  /** @param file its name for messages */
  constructor(file: string) {
    this.#file = file;
  }

  /**
   * Takes the next piece of the text; it may end within a line.
   * @throws {InputFileError} as `parseHistory`
   */
  add(piece: string): void {
    let from = 0;
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', from)) {
      const line = piece.slice(from, end);
      this.#line(this.#rest === '' ? line : this.#rest + line, false);
      this.#rest = '';
      from = end + 1;
    }
    this.#rest += piece.slice(from);
  }

  /** Ends the text. Call it once. @throws {InputFileError} as `parseHistory` */
  finish(): ParsedHistory {
    this.#line(this.#rest, true);
    if (this.#header === undefined) {
      throw new InputFileError(
        'the history is empty',
        { file: this.#file, line: 1, column: 1 },
        { code: 'empty-history', hint: 'a history begins with a header line; see --schema' },
      );
    }
    if (this.#unnumbered !== undefined && this.#numbered) {
      const message = 'this event has no seq, but others have';
      fail(this.#unnumbered, 'seq', 'bad-history-line', message, {
        hint: 'give every event a seq, or none',
      });
    }
    const notes = this.#unnumbered === undefined ? [] : [numberedNote(this.#events)];
    return { history: { header: this.#header, events: number(this.#events) }, notes };
  }

  #line(content: string, unfinished: boolean): void {
    this.#lines += 1;
    const text = content.endsWith('\r') ? content.slice(0, -1) : content;
    if (text.trim() === '') return;
    const line: Line = { text, file: this.#file, number: this.#lines, unfinished };
    if (this.#header === undefined) {
      this.#header = parseHeader(line);
      return;
    }
    const event = parseEvent(line);
    if (event.seq === undefined) this.#unnumbered ??= line;
    else this.#numbered = true;
    this.#events.push(event);
  }
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
  const event = typeof value === 'object' && value !== null ? readEvent(value) : undefined;
  if (event !== undefined) return event;
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

/** Keeps the given numbers; without any, numbers by time, in the order of the file where equal. */
function number(raw: readonly RawEvent[]): readonly HistoryEvent[] {
  if (raw[0]?.seq === undefined) {
    return [...raw].sort(byTimeOfOneClock).map((event, seq) => finish(event, seq));
  }
  return raw.map((event) => finish(event, event.seq ?? 0)).sort((a, b) => a.seq - b.seq);
}

/** Events of different clocks have no common time: each clock's events stay together. */
function byTimeOfOneClock(a: RawEvent, b: RawEvent): number {
  if (a.clock !== b.clock) return (a.clock ?? '') < (b.clock ?? '') ? -1 : 1;
  return a.atNs < b.atNs ? -1 : a.atNs > b.atNs ? 1 : 0;
}

function finish(event: RawEvent, seq: number): HistoryEvent {
  if (isComplete(event)) return event;
  return { ...event, seq, source: event.source ?? defaultSource(event) };
}

function isComplete(event: RawEvent): event is RawEvent & HistoryEvent {
  return event.seq !== undefined && event.source !== undefined;
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

function numberedNote(events: readonly RawEvent[]): string {
  const clocks = new Set(events.map(({ clock }) => clock ?? "the header's clock"));
  return `events carry no seq: numbered by their time on ${[...clocks].join(', ')}`;
}
