/**
 * Writes a history as JSON Lines: the inverse of parse-history.ts. Fields come in the order of the
 * format's schema, so one history has one text, byte for byte.
 */
import type { Evidence } from '../domain/evidence.ts';
import type { History, HistoryEvent, HistoryHeader } from '../domain/event.ts';
import { lineSchemas, type LineKind } from './history-schema.ts';

const fieldOrder: Readonly<Record<LineKind, readonly string[]>> = {
  header: Object.keys(lineSchemas.header.shape),
  invoke: Object.keys(lineSchemas.invoke.shape),
  complete: Object.keys(lineSchemas.complete.shape),
  notice: Object.keys(lineSchemas.notice.shape),
  fault: Object.keys(lineSchemas.fault.shape),
  observation: Object.keys(lineSchemas.observation.shape),
};

/** The whole history, a line break after each line. */
export function writeHistory(history: History): string {
  return [history.header, ...history.events].map(writeLine).join('');
}

/** One header or event as its line, line break included. */
export function writeLine(line: HistoryHeader | HistoryEvent): string {
  const values = new Map<string, unknown>(Object.entries(line));
  const fields = fieldOrder[line.kind]
    .filter((field) => values.get(field) !== undefined)
    .map((field) => `${JSON.stringify(field)}:${stringify(values.get(field))}`);
  return `{${fields.join(',')}}\n`;
}

/** 64-bit numbers become strings; evidence keeps the order of its schema as well. */
function stringify(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === 'bigint') return String(inner);
    return isEvidence(inner) ? ordered(inner) : inner;
  });
}

function isEvidence(value: unknown): value is Evidence {
  return typeof value === 'object' && value !== null && 'proves' in value;
}

function ordered({ source, atNs, fact, proves, holds }: Evidence): unknown {
  return { source, ...(atNs === undefined ? {} : { atNs }), fact, proves, holds };
}
