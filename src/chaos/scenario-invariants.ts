/** The invariants of a scenario file: `- name`, `- name: level` or `- name: { within: …, from: … }`. */
import { z } from 'zod';
import type { InvariantSpec } from '../domain/scenario.ts';
import { checkShape, entriesOf, spanShape, unknownWord } from '../files/shapes.ts';
import type { Path, Problem } from '../files/yaml-source.ts';

/** What a scenario may ask to be checked: names, and the levels of each where it has any. */
export type InvariantNames = Readonly<Record<string, readonly string[]>>;

const word = z.string().min(1).max(200);
const invariantOptions = z.strictObject({
  level: word.optional(),
  within: spanShape.optional(),
  from: word.optional(),
  after: word.optional(),
});

/** Parses a list of invariants; what is wrong goes to `problems`. */
export function parseInvariants(
  raw: readonly unknown[],
  list: string,
  known: InvariantNames,
  problems: Problem[],
): readonly InvariantSpec[] {
  return raw.flatMap((value, index) => {
    const found = parseInvariant(value, [list, index], known, problems);
    return found === undefined ? [] : [found];
  });
}

function parseInvariant(
  value: unknown,
  path: Path,
  known: InvariantNames,
  problems: Problem[],
): InvariantSpec | undefined {
  const [entry, more] =
    typeof value === 'string' ? [[value, {}] as const] : (entriesOf(value) ?? []);
  if (entry === undefined || more !== undefined) {
    problems.push({ path, message: 'an invariant is a name, or one name with its options' });
    return undefined;
  }
  const [name, detail] = entry;
  const place = typeof value === 'string' ? path : [...path, name];
  const levels = Object.hasOwn(known, name) ? known[name] : undefined;
  if (levels === undefined) {
    const problem = unknownWord(name, Object.keys(known), 'there is no invariant');
    problems.push({ path: place, atKey: true, ...problem });
    return undefined;
  }
  const options = typeof detail === 'string' ? { level: detail } : detail;
  const parsed = checkShape(invariantOptions, options, place, problems);
  if (parsed === undefined) return undefined;
  checkLevel(name, parsed.level, levels, place, problems);
  return toSpec(name, parsed);
}

function toSpec(
  name: string,
  { level, within, from, after }: z.output<typeof invariantOptions>,
): InvariantSpec {
  return {
    name,
    ...(level === undefined ? {} : { level }),
    ...(within === undefined ? {} : { within }),
    options: {
      ...(from === undefined ? {} : { from }),
      ...(after === undefined ? {} : { after }),
    },
  };
}

function checkLevel(
  name: string,
  level: string | undefined,
  levels: readonly string[],
  path: Path,
  problems: Problem[],
): void {
  if (level === undefined && levels.length > 0) {
    problems.push({ path, message: `"${name}" needs a level`, hint: levels.join(', ') });
  } else if (level !== undefined && !levels.includes(level)) {
    problems.push({ path, ...unknownWord(level, levels, `"${name}" has no level`) });
  }
}

/** The name by which verdicts and expectations mean an invariant: `mutual-exclusion:service`. */
export function invariantId(spec: Pick<InvariantSpec, 'name' | 'level'>): string {
  return spec.level === undefined ? spec.name : `${spec.name}:${spec.level}`;
}
