/** A release plan for people: which server, what would be deleted, every guard, and what to do next. */
import type { Paint } from './paint.ts';
import { padCells } from './width.ts';

/** One guard as shown. */
export interface ShownGuard {
  readonly name: string;
  readonly level: 'hard' | 'soft' | 'info';
  readonly state: 'ok' | 'warn' | 'refused' | 'unknown';
  readonly text: string;
  readonly remedy?: string;
}

export interface ShownPlan {
  readonly lock: string;
  readonly server: string;
  readonly holders: string;
  readonly deletes: readonly { readonly record: string; readonly condition: string }[];
  readonly replaces: boolean;
  readonly wakes: readonly string[];
  readonly atomicity: string;
  readonly warnings: readonly string[];
  readonly guards: readonly ShownGuard[];
  /** Names and reasons of overridden guards. */
  readonly overrides: ReadonlyMap<string, string>;
  readonly refusedBy: readonly ShownGuard[];
  /** Command that would execute exactly this plan. */
  readonly next: string;
}

const stateWords = { ok: 'ok', warn: 'warn', refused: 'REFUSED', unknown: 'UNKNOWN' } as const;

const paints = { ok: 'good', warn: 'warn', refused: 'bad', unknown: 'warn' } as const;

/** The plan as lines, without line breaks. */
export function planLines(plan: ShownPlan, paint: Paint): readonly string[] {
  const lines = [
    `Plan for ${paint.heading(plan.lock)} on ${plan.server}. Nothing is changed without --execute.`,
  ];
  const width = Math.max(...plan.guards.map((guard) => guard.name.length));
  for (const guard of plan.guards) lines.push(guardLine(guard, plan, width, paint));
  for (const { record, condition } of plan.deletes) {
    lines.push(`Would ${plan.replaces ? 'replace' : 'delete'} ${record} if ${condition}.`);
  }
  lines.push(
    plan.wakes.length === 0
      ? 'Would wake nobody: waiters poll or watch, or none are known.'
      : `Would then send: ${plan.wakes.join('; ')}.`,
    `Atomic: ${plan.atomicity}`,
  );
  for (const warning of plan.warnings) lines.push(paint.warn(`warning  ${warning}`));
  lines.push(...verdict(plan, paint));
  return lines;
}

function guardLine(guard: ShownGuard, plan: ShownPlan, width: number, paint: Paint): string {
  const reason = plan.overrides.get(guard.name);
  const word = padCells(reason === undefined ? stateWords[guard.state] : 'overrode', 8);
  const text = reason === undefined ? guard.text : `${guard.text}; overridden: ${reason}`;
  return `  ${paint[paints[guard.state]](word)}  ${padCells(guard.name, width)}  ${text}`;
}

function verdict(plan: ShownPlan, paint: Paint): readonly string[] {
  if (plan.refusedBy.length === 0) {
    return [`${paint.good('May be executed.')} Next:`, `  ${plan.next}`];
  }
  const lines = [paint.bad(`REFUSED by ${plan.refusedBy.map((guard) => guard.name).join(', ')}.`)];
  for (const guard of plan.refusedBy) {
    if (guard.remedy !== undefined) lines.push(`  ${guard.name}: ${guard.remedy}`);
    if (guard.level === 'soft') lines.push(`    or --override ${guard.name}="why it is safe"`);
  }
  return lines;
}
