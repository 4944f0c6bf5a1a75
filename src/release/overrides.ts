/** `--override GUARD=REASON`: takes soft guards out of the way, with a reason that is recorded. */
import { UsageError } from '../domain/errors.ts';
import { nearestName } from '../domain/nearest.ts';
import { stringToText } from '../domain/text.ts';
import { blocks, type Guard } from './guard.ts';
import { overridable } from './guards/all.ts';

/** Guard name to reason. */
export type Overrides = ReadonlyMap<string, string>;

/** @throws {UsageError} `bad-override` when there is no `=`, no reason, or no such guard to overrule */
export function parseOverrides(given: readonly string[]): Overrides {
  const overrides = new Map<string, string>();
  for (const text of given) {
    const at = text.indexOf('=');
    const name = text.slice(0, at).trim();
    const reason = text.slice(at + 1).trim();
    if (at === -1 || name === '' || reason === '') {
      throw bad(
        `override "${text}" is not GUARD=REASON`,
        'write --override owner-connection="checked, the pod is gone"',
      );
    }
    if (!overridable.includes(name)) throw notOverridable(name);
    overrides.set(name, stringToText(reason));
  }
  return overrides;
}

function notOverridable(name: string): UsageError {
  const near = nearestName(name, overridable);
  const suggestion = near === undefined ? '' : `did you mean "${near}"? `;
  return bad(
    `"${name}" is no guard that can be overridden`,
    `${suggestion}these can: ${overridable.join(', ')}`,
  );
}

/**
 * Refuses the override of a guard that is only sometimes soft, and is hard here.
 * @throws {UsageError} `bad-override`
 */
export function checkOverrides(overrides: Overrides, guards: readonly Guard[]): void {
  for (const guard of guards) {
    if (guard.level !== 'hard' || !blocks(guard) || !overrides.has(guard.name)) continue;
    throw bad(
      `guard "${guard.name}" cannot be overridden here: ${guard.text}`,
      guard.remedy ?? 'a different action is needed',
    );
  }
}

/** Guards that stand in the way after the overrides. */
export function standing(guards: readonly Guard[], overrides: Overrides): readonly Guard[] {
  return guards.filter(
    (guard) => blocks(guard) && (guard.level === 'hard' || !overrides.has(guard.name)),
  );
}

function bad(message: string, hint: string): UsageError {
  return new UsageError(message, { code: 'bad-override', hint, definite: true });
}
