/**
 * YAML files that people write: YAML 1.2 without its surprises, and the place of every value, so
 * that each error can name line and column.
 */
import {
  isAlias,
  isMap,
  isPair,
  isScalar,
  LineCounter,
  parseDocument,
  visit,
  type Document,
  type Node,
  type Pair,
} from 'yaml';
import { InputFileError, type SourcePosition } from '../domain/errors.ts';
import { stringToText } from '../domain/text.ts';

export type Path = readonly PropertyKey[];

/** What differs between the files that fencepost reads. */
export interface FileKind {
  /** Code of its errors, such as `bad-scenario`. */
  readonly code: string;
  /** What an error means for the command: `nothing was run`. */
  readonly consequence: string;
  /** Words that would surprise a YAML 1.1 reader and are meant, by their key. */
  readonly meant?: Readonly<Record<string, string>>;
}

/** One thing wrong with the file. */
export interface Problem {
  /** Where in the document; the nearest existing parent is taken. */
  readonly path: Path;
  /** Points to the key of the last path part instead of its value. */
  readonly atKey?: boolean;
  readonly message: string;
  readonly hint?: string;
}

export interface YamlSource {
  /** Plain objects, arrays, strings, numbers, booleans. */
  readonly value: unknown;
  positionOf(path: Path, atKey?: boolean): SourcePosition;
}

const maxBytes = 256 * 1024;

/**
 * Reads one document.
 * @throws {InputFileError} for what is not YAML, duplicate keys, anchors, tags, and plain words that
 *   YAML 1.1 and 1.2 read differently
 */
export function readYaml(text: string, file: string, kind: FileKind): YamlSource {
  const start: SourcePosition = { file, line: 1, column: 1 };
  if (Buffer.byteLength(text) > maxBytes) {
    throw new InputFileError(`the file is larger than ${maxBytes / 1024} KiB`, start, {
      code: kind.code,
      definite: true,
    });
  }
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    version: '1.2',
    uniqueKeys: true,
    prettyErrors: false,
  });
  const at = (offset: number): SourcePosition => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const source = {
    positionOf: (path: Path, atKey = false) => at(offsetOf(document, path, atKey)),
  };
  const errors = [...syntaxErrors(document), ...surprises(document, kind.meant ?? {})];
  if (errors.length > 0) {
    throw joinErrors(
      errors.map(({ offset, ...error }) => ({ ...error, position: at(offset) })),
      kind,
    );
  }
  return { ...source, value: document.toJS() };
}

interface Located {
  readonly offset: number;
  readonly message: string;
  readonly hint?: string;
}

function syntaxErrors(document: Document): readonly Located[] {
  return document.errors.map((error) => ({
    offset: error.pos[0],
    message:
      error.code === 'DUPLICATE_KEY'
        ? 'this key is there twice'
        : `not valid YAML: ${stringToText(error.message)}`,
  }));
}

/** Words that YAML 1.1 reads as booleans, and numbers it reads in base 8 or 60. */
const surprising = /^(?:[yn]|yes|no|on|off|0\d+|[\d_]*_[\d_]*|\d+(?::\d+)+)$/i;

function surprises(
  document: Document,
  meant: Readonly<Record<string, string>>,
): readonly Located[] {
  const found: Located[] = [];
  const add = (node: Node, message: string, hint: string): void => {
    found.push({ offset: node.range?.[0] ?? 0, message, hint });
  };
  visit(document, {
    Node(_, node, parents) {
      if (isAlias(node)) add(node, 'aliases are not allowed', 'write the value out');
      else if (node.anchor !== undefined || node.tag !== undefined) {
        add(node, 'anchors and tags are not allowed', 'write the value out');
      } else if (isScalar(node) && node.type === 'PLAIN') {
        const word = node.source ?? '';
        const parent = parents.at(-1);
        const key = isPair(parent) && isScalar(parent.key) ? String(parent.key.value) : '';
        if (!surprising.test(word) || meant[key] === word) return;
        add(node, `"${word}" means different things to YAML readers`, 'put it in quotes');
      }
    },
  });
  return found;
}

function offsetOf(document: Document, path: Path, atKey: boolean): number {
  for (let length = path.length; length > 0; length -= 1) {
    const parent: unknown = document.getIn(path.slice(0, length - 1), true);
    const pair = isMap(parent) ? findPair(parent.items, path[length - 1]) : undefined;
    if (pair !== undefined && (atKey || length < path.length)) return startOf(pair.key);
    const node: unknown = document.getIn(path.slice(0, length), true);
    if (node !== undefined && node !== null) return startOf(node);
    if (pair !== undefined) return startOf(pair.key);
  }
  return document.contents?.range?.[0] ?? 0;
}

function findPair(items: readonly Pair[], key: PropertyKey | undefined): Pair | undefined {
  return items.find(({ key: node }) => isScalar(node) && String(node.value) === String(key));
}

function startOf(node: unknown): number {
  if (typeof node !== 'object' || node === null || !('range' in node)) return 0;
  const range: unknown = node.range;
  return Array.isArray(range) && typeof range[0] === 'number' ? range[0] : 0;
}

/** One error that tells all: the first is the headline, the others follow line by line. */
export function joinErrors(
  problems: readonly {
    readonly position: SourcePosition;
    readonly message: string;
    readonly hint?: string;
  }[],
  kind: FileKind,
): InputFileError {
  const sorted = [...problems].sort(
    (a, b) => a.position.line - b.position.line || a.position.column - b.position.column,
  );
  const [first, ...rest] = sorted;
  const position = first?.position ?? { file: '', line: 1, column: 1 };
  const more = rest.map(
    ({ position: { file, line, column }, message, hint }) =>
      `\n${file}:${line}:${column}: ${message}${hint === undefined ? '' : ` (${hint})`}`,
  );
  const headline =
    rest.length > 0 && first?.hint !== undefined
      ? `${first.message} (${first.hint})`
      : (first?.message ?? 'bad file');
  const hint = rest.length === 0 ? first?.hint : `${sorted.length} errors; ${kind.consequence}`;
  return new InputFileError(headline + more.join(''), position, {
    code: kind.code,
    ...(hint === undefined ? {} : { hint }),
    definite: true,
  });
}
