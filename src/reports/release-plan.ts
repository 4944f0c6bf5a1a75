/** A release plan for people: which server, what would be deleted, every guard, and what to do next. */
import type { Paint } from './paint.ts';
import { displayWidth, padCells } from './width.ts';

/** One guard as shown. */
export interface ShownGuard {
  readonly name: string;
  readonly level: 'hard' | 'soft' | 'info';
  readonly state: 'ok' | 'warn' | 'refused' | 'unknown';
  readonly text: string;
  readonly remedy?: string;
  /** Only the operator's word is missing: the remedy completes the command. */
  readonly consent?: true;
}

export interface ShownPlan {
  readonly lock: string;
  readonly server: string;
  /** It will be carried out, or would have been: otherwise it is only a plan. */
  readonly executing: boolean;
  readonly holders: string;
  readonly deletes: readonly {
    readonly record: string;
    readonly condition: string;
    readonly writes?: string;
  }[];
  readonly replaces: boolean;
  /** What a second step would do. */
  readonly afterwards: string | undefined;
  readonly wakes: readonly string[];
  readonly atomicity: string;
  readonly warnings: readonly string[];
  readonly guards: readonly ShownGuard[];
  /** Names and reasons of overridden guards. */
  readonly overrides: ReadonlyMap<string, string>;
  readonly refusedBy: readonly ShownGuard[];
  /** Terminal cells to fill. */
  readonly columns: number;
  /** Command that would execute exactly this plan. */
  readonly next: string;
}

const stateWords = { ok: 'ok', warn: 'warn', refused: 'REFUSED', unknown: 'UNKNOWN' } as const;

const paints = { ok: 'good', warn: 'warn', refused: 'bad', unknown: 'warn' } as const;

/** The plan as lines, without line breaks. */
export function planLines(plan: ShownPlan, paint: Paint): readonly string[] {
  const only = plan.executing ? '' : ' Nothing is changed without --execute.';
  const lines = [`Plan for ${paint.heading(plan.lock)} on ${plan.server}.${only}`];
  lines.push(...guardLines(plan, paint));
  for (const { record, condition, writes } of plan.deletes) {
    const verb = plan.replaces ? 'replace' : 'delete';
    const act = writes === undefined ? `${verb} ${record}` : `write ${writes} to ${record}`;
    lines.push(`Would ${act} if ${condition}.`);
  }
  lines.push(
    plan.wakes.length === 0
      ? 'Would send no message: waiters poll or watch by themselves, or none are known.'
      : `Would then send: ${plan.wakes.join('; ')}.`,
    `Atomic: ${plan.atomicity}`,
  );
  if (plan.afterwards !== undefined) lines.push(paint.warn(`Then would ${plan.afterwards}.`));
  for (const warning of plan.warnings) lines.push(paint.warn(`warning  ${warning}`));
  lines.push(...verdict(plan, paint));
  return lines;
}

const wordCells = 8;

/** What is in order takes little room, two in a line; what is not has a line with its name. */
function guardLines(plan: ShownPlan, paint: Paint): readonly string[] {
  const fine = plan.guards.filter((guard) => guard.state === 'ok');
  const others = plan.guards.filter((guard) => guard.state !== 'ok');
  const width = Math.max(0, ...others.map((guard) => guard.name.length));
  return [
    ...pairs(
      fine.map((guard) => guard.text),
      Math.floor(plan.columns / 2) - wordCells - 4,
    ).map((texts) =>
      `  ${texts.map((text) => `${paint.good(padCells('ok', wordCells))}  ${text}`).join('')}`.trimEnd(),
    ),
    ...others.map((guard) => guardLine(guard, plan, width, paint)),
  ];
}

/** Texts that are too long for `cells` have a row of their own; the others two in a row, padded. */
function pairs(texts: readonly string[], cells: number): readonly (readonly string[])[] {
  const rows = texts.filter((text) => displayWidth(text) > cells).map((text) => [text]);
  const short = texts.filter((text) => displayWidth(text) <= cells);
  for (let at = 0; at < short.length; at += 2) {
    const [left = '', ...right] = short.slice(at, at + 2);
    rows.push([padCells(left, cells + 2), ...right]);
  }
  return rows;
}

function guardLine(guard: ShownGuard, plan: ShownPlan, width: number, paint: Paint): string {
  const reason = plan.overrides.get(guard.name);
  const word = padCells(reason === undefined ? stateWords[guard.state] : 'overrode', wordCells);
  const text = reason === undefined ? guard.text : `${guard.text}; overridden: ${reason}`;
  return `  ${paint[paints[guard.state]](word)}  ${padCells(guard.name, width)}  ${text}`;
}

function verdict(plan: ShownPlan, paint: Paint): readonly string[] {
  if (plan.refusedBy.length === 0) {
    return [`${paint.good('May be executed.')} Next:`, `  ${plan.next}`];
  }
  const lines = [paint.bad(`REFUSED by ${plan.refusedBy.map((guard) => guard.name).join(', ')}.`)];
  const final = plan.refusedBy.filter(({ level, consent }) => level === 'hard' && consent !== true);
  if (final.length > 0) {
    lines.push(`No override helps against ${final.map(({ name }) => name).join(', ')}.`);
  }
  // While one refuses that nothing overrides, what would help against the others is beside the point.
  for (const guard of final.length > 0 ? final : plan.refusedBy) {
    if (guard.remedy !== undefined) lines.push(`  ${guard.name}: ${guard.remedy}`);
    if (guard.level === 'soft') lines.push(`    or --override ${guard.name}="why it is safe"`);
  }
  return lines;
}
