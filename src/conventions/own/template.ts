/**
 * Templates of keys and values, `acme:<name>:lock`: literal text and named captures. Deliberately
 * no regular expressions: keys are attacker-controlled, and a template is matched in one pass
 * without going back, whatever it says.
 */
import { parseText, type Text } from '../../domain/text.ts';

export interface Template {
  /** As it was written. */
  readonly source: string;
  /** Never two captures without text between them. */
  readonly parts: readonly TemplatePart[];
  /** Names of the captures, in order. */
  readonly captures: readonly string[];
}

type TemplatePart = { readonly text: string } | { readonly capture: string };

export type Captures = ReadonlyMap<string, Text>;

/** A template, or what is wrong with it. */
export type ParsedTemplate =
  { readonly ok: true; readonly template: Template } | { readonly ok: false; readonly why: string };

const pieces = /\\<|<([^<>]*)>|[<>]|[^<>\\]+|\\/g;
const captureName = /^[a-z][a-z0-9-]{0,30}$/;

/** Reads `text`; `\<` is a literal `<`. A capture is a small word in angle brackets. */
export function parseTemplate(text: string): ParsedTemplate {
  const parts: TemplatePart[] = [];
  let literal = '';
  const flush = (): void => {
    if (literal !== '') parts.push({ text: parseText(literal) });
    literal = '';
  };
  for (const [piece, name] of text.matchAll(pieces)) {
    if (name === undefined) {
      if (piece === '<')
        return bad('"<" opens a capture that does not end; a literal one is "\\<"');
      literal += piece === '\\<' ? '<' : piece;
      continue;
    }
    if (!captureName.test(name)) {
      return bad(`"<${name}>" is no capture: write a small word, such as <name>`);
    }
    flush();
    parts.push({ capture: name });
  }
  flush();
  return checked(text, parts);
}

function checked(source: string, parts: readonly TemplatePart[]): ParsedTemplate {
  const captures = parts.flatMap((part) => ('capture' in part ? [part.capture] : []));
  const twice = captures.find((name, at) => captures.indexOf(name) !== at);
  if (twice !== undefined) return bad(`<${twice}> is there twice`);
  const touching = parts.findIndex((part, at) => {
    const next = parts[at + 1];
    return 'capture' in part && next !== undefined && 'capture' in next;
  });
  if (touching !== -1) {
    return bad('two captures touch: put text between them, or nothing tells where one ends');
  }
  return { ok: true, template: { source, parts, captures } };
}

function bad(why: string): ParsedTemplate {
  return { ok: false, why };
}

/**
 * The captures of `text`, or undefined when it does not fit. Each takes one character or more, as
 * few as it can; the last takes the rest.
 */
export function matchTemplate({ parts }: Template, text: Text): Captures | undefined {
  const found = new Map<string, Text>();
  let at = 0;
  let open: string | undefined;
  for (const [index, part] of parts.entries()) {
    if ('capture' in part) {
      open = part.capture;
      continue;
    }
    const start = startOf(text, part.text, {
      at,
      anchored: open === undefined,
      last: index === parts.length - 1,
    });
    if (start === undefined) return undefined;
    if (open !== undefined) found.set(open, parseText(text.slice(at, start)));
    open = undefined;
    at = start + part.text.length;
  }
  if (open === undefined) return at === text.length ? found : undefined;
  if (at >= text.length) return undefined;
  return found.set(open, parseText(text.slice(at)));
}

/** Where the literal begins: here, at the end, or at its next place after one character or more. */
function startOf(
  text: Text,
  literal: string,
  how: { readonly at: number; readonly anchored: boolean; readonly last: boolean },
): number | undefined {
  if (how.anchored) return text.startsWith(literal, how.at) ? how.at : undefined;
  const from = how.at + 1;
  if (how.last) {
    const start = text.length - literal.length;
    return start >= from && text.endsWith(literal) ? start : undefined;
  }
  const start = text.indexOf(literal, from);
  return start === -1 ? undefined : start;
}

/** The text with every capture filled in; undefined when one is not among `captures`. */
export function fillTemplate({ parts }: Template, captures: Captures): Text | undefined {
  let out = '';
  for (const part of parts) {
    const piece = 'capture' in part ? captures.get(part.capture) : part.text;
    if (piece === undefined) return undefined;
    out += piece;
  }
  return parseText(out);
}
