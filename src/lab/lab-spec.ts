/** Reads what a person asks for (`redis`, `--members 3`, `--option k=v`) into a LabSpec. */
import { UsageError } from '../domain/errors.ts';
import { nearestName } from '../domain/nearest.ts';
import type { LabSpec, LabSystem, LabTopology } from './lab.ts';

export const labSystems: readonly LabSystem[] = ['redis', 'etcd', 'zookeeper'];

/** How many servers each may have; the first is the default. */
const possibleMembers = {
  redis: [1, 3],
  'redis-sentinel': [6],
  'redis-cluster': [6],
  redlock: [5, 3],
  etcd: [1, 3],
  zookeeper: [1, 3],
} as const satisfies Readonly<Record<LabTopology, readonly [number, ...number[]]>>;

export const labTopologies: readonly LabTopology[] = [
  'redis',
  'redis-sentinel',
  'redis-cluster',
  'redlock',
  'etcd',
  'zookeeper',
];

/** Whose programs a topology runs on. */
export function systemOf(topology: LabTopology): LabSystem {
  return topology === 'etcd' || topology === 'zookeeper' ? topology : 'redis';
}

/** Servers of a topology unless told otherwise. */
export function defaultMembers(topology: LabTopology): number {
  return possibleMembers[topology][0];
}

/** What the lab must set itself, or nobody would find the server. */
const reserved: Readonly<Record<LabSystem, RegExp>> = {
  redis:
    /^(bind|port|dir|daemonize|logfile|include|tls-.*|replicaof|slaveof|cluster-.*|masterauth|masteruser)$/,
  etcd: /^(name|data-dir|config-file|listen-.*-urls|advertise-client-urls|initial-.*)$/,
  zookeeper: /^(dataDir|clientPort|clientPortAddress|admin\.server(Address|Port)|server\.\d+)$/,
};

const optionName = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
// Values become lines of a configuration file.
const controlCharacter = /\p{Cc}/u;

/** @throws {UsageError} `unknown-system`, with the nearest name */
export function parseLabSystem(name: string): LabSystem {
  return parseName(name, labSystems, 'install');
}

function parseName<T extends string>(name: string, names: readonly T[], verb: string): T {
  const found = names.find((known) => known === name);
  if (found !== undefined) return found;
  const nearest = nearestName(name, names);
  const all = `it can ${verb} ${names.join(', ')}`;
  throw new UsageError(`"${name}" is nothing that the lab can ${verb}`, {
    code: 'unknown-system',
    hint: nearest === undefined ? all : `did you mean ${nearest}? ${all}`,
    definite: true,
  });
}

/**
 * @param members as typed; undefined is the default of the topology
 * @param options each `name=value`; the value may be empty
 * @throws {UsageError} `unknown-system`, `bad-members` or `bad-lab-option`, naming the value
 */
export function parseLabSpec(
  topologyName: string,
  members: string | undefined,
  options: readonly string[],
  tls = false,
): LabSpec {
  const system = parseName(topologyName, labTopologies, 'start');
  if (tls && systemOf(system) !== 'redis') {
    throw badOption(
      `--tls is for Redis labs, not for ${system}`,
      'etcd takes certificates by --option cert-file=… --option key-file=…',
    );
  }
  return {
    system,
    members: parseMembers(system, members),
    tls,
    options: Object.fromEntries(options.map((option) => parseOption(systemOf(system), option))),
  };
}

function parseMembers(system: LabTopology, text: string | undefined): number {
  const possible: readonly number[] = possibleMembers[system];
  const members =
    text === undefined ? defaultMembers(system) : possible.find((each) => String(each) === text);
  if (members !== undefined) return members;
  throw new UsageError(`a ${system} lab cannot have "${text}" members`, {
    code: 'bad-members',
    hint: `--members ${possible.join(' or ')}`,
    definite: true,
  });
}

function parseOption(system: LabSystem, text: string): readonly [name: string, value: string] {
  const equals = text.indexOf('=');
  const [name, value] = [text.slice(0, equals), text.slice(equals + 1)];
  if (equals === -1) throw badOption(`option "${text}" has no "="`, 'write --option name=value');
  if (!optionName.test(name)) {
    throw badOption(`"${name}" is not the name of an option`, 'write --option name=value');
  }
  if (controlCharacter.test(value)) {
    throw badOption(
      `the value of option "${name}" has a control character`,
      'write it on one line',
    );
  }
  if (reserved[system].test(name)) {
    throw badOption(`option "${name}" is set by the lab itself`, 'leave it out');
  }
  if (name === '4lw' && value !== 'on' && value !== 'off') {
    throw badOption(`option 4lw cannot be "${value}"`, 'write 4lw=on or 4lw=off');
  }
  return [name, value];
}

const secretOption = /pass|auth$|^user$|digest/i;

/** The spec as it may be printed: values of options that carry passwords are blotted out. */
export function printableSpec(spec: LabSpec): LabSpec {
  const shown = Object.entries(spec.options).map(([name, value]): [string, string] => [
    name,
    secretOption.test(name) ? '***' : value,
  ]);
  return { ...spec, options: Object.fromEntries(shown) };
}

function badOption(message: string, hint: string): UsageError {
  return new UsageError(message, { code: 'bad-lab-option', hint, definite: true });
}
