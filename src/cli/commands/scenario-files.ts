/** Scenario files as they are named on the command line: single files, or folders of them. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseScenario } from '../../chaos/scenario-schema.ts';
import { checkers } from '../../checks/registry.ts';
import { systemCode, UsageError } from '../../domain/errors.ts';
import { globMatcher } from '../../domain/glob.ts';
import type { Scenario } from '../../domain/scenario.ts';
import { stringToText } from '../../domain/text.ts';

/**
 * Reads the scenarios, those of a folder in the order of their file names.
 * @param filter glob over scenario names; undefined: all
 * @throws {UsageError} `no-scenario`, or as the scenario's own mistakes
 */
export function readScenarios(
  paths: readonly string[],
  filter: string | undefined,
): readonly Scenario[] {
  const scenarios = paths.flatMap(filesOf).map(readScenario);
  if (filter === undefined) return scenarios;
  const wanted = globMatcher([stringToText(filter)]);
  const chosen = scenarios.filter(({ name }) => wanted(stringToText(name)));
  if (chosen.length > 0) return chosen;
  const names = scenarios.map(({ name }) => name).join(', ');
  throw new UsageError(`no scenario's name matches --filter "${filter}"`, {
    code: 'no-scenario',
    hint: `given are ${names}`,
    definite: true,
  });
}

function filesOf(path: string): readonly string[] {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [path];
  const files = readdirSync(path)
    .filter((name) => /\.ya?ml$/.test(name))
    .sort()
    .map((name) => join(path, name));
  if (files.length > 0) return files;
  throw new UsageError(`there is no scenario in the folder "${path}"`, {
    code: 'no-scenario',
    hint: 'scenarios are .yaml files; those of folders inside are not looked for',
    definite: true,
  });
}

function readScenario(file: string): Scenario {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    const code = systemCode(cause, 'unreadable');
    throw new UsageError(`cannot read the scenario "${file}": ${code}`, {
      code: 'no-scenario',
      hint: 'give the path of a YAML file, such as scenarios/paused-holder-resumes.yaml',
      cause,
      definite: true,
    });
  }
  const known = Object.fromEntries(checkers.map(({ name, levels }) => [name, levels ?? []]));
  return parseScenario(text, file, known);
}
