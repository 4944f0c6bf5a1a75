/**
 * The form of `conventions.yaml`, and what it means: text in, descriptions out, or one error that
 * tells everything wrong with its line and column. Strict: what is not known is refused.
 */
import { z } from 'zod';
import {
  wholeKey,
  type OwnDescription,
  type OwnerSource,
  type OwnRedis,
  type Wake,
} from '../conventions/own/description.ts';
import { ownerCaptures } from '../conventions/own/owner.ts';
import { parseTemplate, type Template } from '../conventions/own/template.ts';
import type { ConventionId } from '../domain/lock.ts';
import { parseText, stringToText } from '../domain/text.ts';
import { checkShape, durationShape, entriesOf } from '../files/shapes.ts';
import { joinErrors, readYaml, type FileKind, type Problem } from '../files/yaml-source.ts';

const conventionsFile: FileKind = { code: 'bad-conventions', consequence: 'nothing was asked' };

const templateShape = z
  .string()
  .min(1)
  .max(500)
  .transform((text, context): Template => {
    const parsed = parseTemplate(text);
    if (parsed.ok) return parsed.template;
    context.addIssue({ code: 'custom', message: parsed.why });
    return z.NEVER;
  });
const words = z.string().min(1).max(300);
const fieldName = z.string().min(1).max(200).transform(parseText);

const ownerShape = z.strictObject({
  field: fieldName.optional(),
  json: z
    .string()
    .regex(/^[^.]+(?:\.[^.]+)*$/, 'names separated by dots')
    .max(200)
    .optional(),
  pattern: templateShape.optional(),
});

const common = {
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,60}$/, 'a name has lower-case letters, digits and "-"'),
  title: words.optional(),
  key: templateShape,
  owner: ownerShape.optional(),
  confidence: z.enum(['high', 'medium', 'low']).optional(),
  'never-release': words.optional(),
  warnings: z.array(words).max(10).optional(),
};

const publishShape = z.strictObject({
  publish: templateShape,
  message: z.union([z.literal(''), templateShape]).optional(),
  sharded: z.boolean().optional(),
});
const pushShape = z.strictObject({
  push: templateShape,
  value: templateShape.optional(),
  expires: durationShape.optional(),
});

const shapes = {
  redis: z.strictObject({
    ...common,
    system: z.literal('redis'),
    type: z.enum(['string', 'hash']),
    grant: z.array(fieldName).min(1).max(20).optional(),
    fence: templateShape.optional(),
    wake: z.array(z.unknown()).max(10).optional(),
  }),
  etcd: z.strictObject({
    ...common,
    system: z.literal('etcd'),
    type: z.enum(['key', 'queue']),
  }),
  zookeeper: z.strictObject({
    ...common,
    system: z.literal('zookeeper'),
    type: z.enum(['node', 'queue']),
    contender: templateShape.optional(),
  }),
} as const;

const fileShape = z.strictObject({
  version: z.literal(1),
  conventions: z.array(z.unknown()).min(1).max(200),
});
const systemShape = z.looseObject({ system: z.enum(['redis', 'etcd', 'zookeeper']) });

/**
 * Parses and validates the text of a conventions file.
 * @param file as it shall be named in errors
 * @param taken ids of built-in conventions, which no own one may have
 * @throws {InputFileError} with every error found, each with line and column
 */
export function parseConventions(
  text: string,
  file: string,
  taken: (system: OwnDescription['system']) => readonly ConventionId[],
): readonly OwnDescription[] {
  const source = readYaml(text, file, conventionsFile);
  const problems: Problem[] = [];
  const parsed = checkShape(fileShape, source.value, [], problems);
  const found = (parsed?.conventions ?? []).flatMap((one, index) => {
    return new Entry(index, problems).read(one) ?? [];
  });
  checkNames(found, taken, problems);
  if (problems.length === 0) return found.map(({ description }) => description);
  const located = problems.map(({ path, atKey, ...problem }) => ({
    ...problem,
    position: source.positionOf(path, atKey),
  }));
  throw joinErrors(located, conventionsFile);
}

interface Read {
  readonly index: number;
  readonly description: OwnDescription;
}

type File = { [K in keyof typeof shapes]: z.output<(typeof shapes)[K]> };

/** One convention of the file, and where complaints about it belong. */
class Entry {
  readonly #index: number;
  readonly #problems: Problem[];

  constructor(index: number, problems: Problem[]) {
    this.#index = index;
    this.#problems = problems;
  }

  read(value: unknown): Read | undefined {
    const path = ['conventions', this.#index];
    const system = checkShape(systemShape, value, path, this.#problems)?.system;
    if (system === undefined) return undefined;
    const before = this.#problems.length;
    const description = this.#describe(system, value);
    return description === undefined || this.#problems.length > before
      ? undefined
      : { index: this.#index, description };
  }

  #describe(system: keyof typeof shapes, value: unknown): OwnDescription | undefined {
    const path = ['conventions', this.#index];
    switch (system) {
      case 'redis': {
        const file = checkShape(shapes.redis, value, path, this.#problems);
        return file && this.#redis(file);
      }
      case 'etcd': {
        const file = checkShape(shapes.etcd, value, path, this.#problems);
        return file && { ...this.#common(file), system, type: file.type };
      }
      case 'zookeeper': {
        const file = checkShape(shapes.zookeeper, value, path, this.#problems);
        return file && this.#zookeeper(file);
      }
    }
  }

  #common(
    file: File[keyof File],
  ): Pick<
    OwnDescription,
    'id' | 'title' | 'key' | 'owner' | 'confidence' | 'neverRelease' | 'warnings'
  > {
    if (file.key.parts.every((part) => 'capture' in part)) {
      this.#complain(['key'], `"${file.key.source}" fits every key`, 'add text around the capture');
    }
    if (file.key.captures.includes(wholeKey)) {
      const hint = 'it stands for the whole key elsewhere: choose another word';
      this.#complain(['key'], `<${wholeKey}> is no name for a capture`, hint);
    }
    if (file.system !== 'redis' && file.owner?.field !== undefined) {
      this.#complain(['owner', 'field'], 'only a hash of Redis has fields', 'leave it out');
    }
    this.#captured(file.owner?.pattern);
    return {
      id: file.name,
      title: stringToText(file.title ?? file.name),
      key: file.key,
      owner: ownerOf(file.owner),
      confidence: file.confidence ?? 'high',
      neverRelease: file['never-release'],
      warnings: file.warnings ?? [],
    };
  }

  #captured(pattern: Template | undefined): void {
    for (const name of pattern?.captures ?? []) {
      if (ownerCaptures.includes(name) || name.startsWith('any')) continue;
      const hint = `known: <${ownerCaptures.join('>, <')}>; <any> for what is of no interest`;
      this.#complain(['owner', 'pattern'], `<${name}> is not known here`, hint);
    }
  }

  #redis(file: File['redis']): OwnRedis {
    if (file.type === 'hash') this.#hash(file);
    else this.#string(file);
    if (file.fence !== undefined) this.#helper(file, file.fence, ['fence']);
    return {
      ...this.#common(file),
      system: 'redis',
      type: file.type,
      grantFields: file.grant,
      fence: file.fence,
      wake: (file.wake ?? []).flatMap((one, at) => this.#wake(file, one, ['wake', at]) ?? []),
    };
  }

  #hash({ owner, grant }: File['redis']): void {
    if (owner?.field === undefined) {
      const hint = 'owner: { field: NAME }';
      this.#complain(['owner'], 'a hash needs the field that holds the owner', hint);
    } else if (grant?.includes(owner.field) === false) {
      this.#complain(['grant'], `"${owner.field}", the owner, is not among them`, 'add it');
    }
  }

  #string({ owner, grant }: File['redis']): void {
    if (owner?.field !== undefined) {
      this.#complain(['owner', 'field'], 'a string has no fields', 'type: hash, or leave it out');
    }
    if (grant !== undefined) {
      const hint = 'leave it out: the whole value is compared';
      this.#complain(['grant'], 'a string has no fields', hint);
    }
  }

  #wake(file: File['redis'], value: unknown, path: readonly PropertyKey[]): Wake | undefined {
    const at = ['conventions', this.#index, ...path];
    const words = new Map(entriesOf(value));
    if (words.has('publish') === words.has('push')) {
      const hint = 'write a list entry for each';
      this.#complain(path, 'a wake-up has either "publish" or "push"', hint);
      return undefined;
    }
    return words.has('publish')
      ? this.#publish(file, checkShape(publishShape, value, at, this.#problems), path)
      : this.#push(file, checkShape(pushShape, value, at, this.#problems), path);
  }

  #publish(
    file: File['redis'],
    wake: z.output<typeof publishShape> | undefined,
    path: readonly PropertyKey[],
  ): Wake | undefined {
    if (wake === undefined) return undefined;
    const message = typeof wake.message === 'object' ? wake.message : noText;
    this.#known(file, wake.publish, [...path, 'publish']);
    this.#known(file, message, [...path, 'message']);
    return { publish: wake.publish, message, sharded: wake.sharded ?? false };
  }

  #push(
    file: File['redis'],
    wake: z.output<typeof pushShape> | undefined,
    path: readonly PropertyKey[],
  ): Wake | undefined {
    if (wake === undefined) return undefined;
    const value = wake.value ?? one;
    this.#helper(file, wake.push, [...path, 'push']);
    this.#known(file, value, [...path, 'value']);
    return { push: wake.push, value, ttlMs: wake.expires ?? 1_000 };
  }

  #zookeeper(file: File['zookeeper']): OwnDescription {
    if (!file.key.source.startsWith('/')) {
      this.#complain(['key'], `"${file.key.source}" is no path`, 'paths begin with /');
    }
    if (file.type === 'queue' && file.contender === undefined) {
      this.#complain(
        ['contender'],
        'a queue needs the names of its contenders',
        'contender: what stands before the ten digits, such as "job-"',
      );
    }
    if (file.type === 'node' && file.contender !== undefined) {
      this.#complain(['contender'], 'one node has no contenders', 'type: queue, or leave it out');
    }
    return {
      ...this.#common(file),
      system: 'zookeeper',
      type: file.type,
      contender: file.contender,
    };
  }

  /** A key that belongs to the lock leads back to it, and is not the lock itself. */
  #helper(file: File['redis'], template: Template, path: readonly PropertyKey[]): void {
    this.#known(file, template, path);
    const named = [...template.captures];
    const missing = file.key.captures.filter((name) => !named.includes(name));
    if (template.source === file.key.source || template.source === `<${wholeKey}>`) {
      this.#complain(path, 'it is the key of the lock itself', 'name another key');
    } else if (missing.length > 0 && !named.includes(wholeKey)) {
      this.#complain(
        path,
        `<${missing.join('>, <')}> of the key is not in "${template.source}"`,
        `each lock needs one of its own: use every capture of the key, or <${wholeKey}>`,
      );
    }
  }

  #known(file: File['redis'], template: Template, path: readonly PropertyKey[]): void {
    const known = [...file.key.captures, wholeKey];
    for (const name of template.captures) {
      if (known.includes(name)) continue;
      this.#complain(path, `<${name}> is no capture of the key`, `known: <${known.join('>, <')}>`);
    }
  }

  #complain(below: readonly PropertyKey[], message: string, hint?: string): void {
    const path = ['conventions', this.#index, ...below];
    this.#problems.push({ path, message, ...(hint === undefined ? {} : { hint }) });
  }
}

function ownerOf(file: z.output<typeof ownerShape> | undefined): OwnerSource {
  return {
    field: file?.field,
    json: file?.json?.split('.'),
    pattern: file?.pattern,
  };
}

const noText: Template = { source: '', parts: [], captures: [] };
const one: Template = { source: '1', parts: [{ text: parseText('1') }], captures: [] };

function checkNames(
  found: readonly Read[],
  taken: (system: OwnDescription['system']) => readonly ConventionId[],
  problems: Problem[],
): void {
  for (const [at, { index, description }] of found.entries()) {
    const { id, system } = description;
    const path = ['conventions', index, 'name'];
    const first = found.findIndex((one) => one.description.id === id);
    if (first !== at) problems.push({ path, message: `"${id}" is there twice` });
    else if (taken(system).includes(id)) {
      const message = `"${id}" is a built-in convention`;
      problems.push({ path, message, hint: 'choose another name' });
    }
  }
}
