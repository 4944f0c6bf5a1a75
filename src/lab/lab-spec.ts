/** Reads what a person asks for (`redis`, `--members 3`, `--option k=v`) into a LabSpec. */
import { UsageError } from '../domain/errors.ts';
import { nearestName } from '../domain/nearest.ts';
import type { LabSpec, LabSystem } from './lab.ts';

export const labSystems: readonly LabSystem[] = ['redis', 'etcd', 'zookeeper'];

const possibleMembers: Readonly<Record<LabSystem, readonly number[]>> = {
  redis: [1],
  etcd: [1, 3],
  zookeeper: [1, 3],
};

/** What the lab must set itself, or nobody would find the server. */
const reserved: Readonly<Record<LabSystem, RegExp>> = {
  redis: /^(bind|port|dir|daemonize|logfile|include)$/,
  etcd: /^(name|data-dir|config-file|listen-.*-urls|advertise-client-urls|initial-.*)$/,
  zookeeper: /^(dataDir|clientPort|clientPortAddress|admin\.server(Address|Port)|server\.\d+)$/,
};

const optionName = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
// Values become lines of a configuration file.
const controlCharacter = /\p{Cc}/u;

/** @throws {UsageError} `unknown-system`, with the nearest name */
export function parseLabSystem(name: string): LabSystem {
  const system = labSystems.find((known) => known === name);
  if (system !== undefined) return system;
  const nearest = nearestName(name, labSystems);
  throw new UsageError(`"${name}" is not a system that the lab can start`, {
    code: 'unknown-system',
    hint:
      nearest === undefined
        ? `it can start ${labSystems.join(', ')}`
        : `did you mean ${nearest}? it can start ${labSystems.join(', ')}`,
    definite: true,
  });
}

/**
 * @param members as typed; undefined is 1
 * @param options each `name=value`; the value may be empty
 * @throws {UsageError} `unknown-system`, `bad-members` or `bad-lab-option`, naming the value
 */
export function parseLabSpec(
  systemName: string,
  members: string | undefined,
  options: readonly string[],
): LabSpec {
  const system = parseLabSystem(systemName);
  return {
    system,
    members: parseMembers(system, members),
    options: Object.fromEntries(options.map((option) => parseOption(system, option))),
  };
}

function parseMembers(system: LabSystem, text = '1'): number {
  const possible = possibleMembers[system];
  const members = possible.find((count) => String(count) === text);
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
