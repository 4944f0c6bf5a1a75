/** `--override GUARD=REASON`: takes soft guards out of the way, with a reason that is recorded. */
import { UsageError } from '../domain/errors.ts';
import { nearestName } from '../domain/nearest.ts';
import { blocks, type Guard } from './guard.ts';

/** Guard name to reason. */
export type Overrides = ReadonlyMap<string, string>;

/** @throws {UsageError} `bad-override` when there is no `=`, no name or no reason */
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
    overrides.set(name, reason);
  }
  return overrides;
}

/**
 * Refuses overrides that mean nothing: of a guard that does not exist or cannot be overridden.
 * @throws {UsageError} `bad-override`
 */
export function checkOverrides(overrides: Overrides, guards: readonly Guard[]): void {
  for (const name of overrides.keys()) {
    const guard = guards.find((one) => one.name === name);
    if (guard === undefined) {
      const soft = guards.filter((one) => one.level === 'soft').map((one) => one.name);
      const near = nearestName(name, soft);
      throw bad(
        `there is no guard "${name}"`,
        near === undefined ? `guards: ${soft.join(', ')}` : `did you mean "${near}"?`,
      );
    }
    if (guard.level === 'hard' && blocks(guard)) {
      throw bad(
        `guard "${name}" cannot be overridden: ${guard.text}`,
        guard.remedy ?? 'a different action is needed',
      );
    }
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
