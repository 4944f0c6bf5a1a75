/** The plan of a run for people: what `run --dry-run` prints. */
import { printable } from './escape.ts';
import { padCells } from './width.ts';

/** What a plan shows; the plan itself is made by the runner. */
export interface PlanView {
  readonly seed: string;
  readonly hash: string;
  readonly repeat: number;
  readonly cells: readonly {
    readonly scenario: string;
    readonly title: string;
    readonly column: string;
    readonly protocol: string;
    readonly protocolTitle: string;
    readonly accept: string;
    readonly leaseMs: number;
    readonly granularityMs: number;
    readonly steps: readonly {
      readonly id: string;
      readonly text: string;
      readonly span: string | undefined;
      readonly undo: string | undefined;
    }[];
    readonly invariants: readonly string[];
    readonly controls: readonly {
      readonly mutate: string;
      readonly how: 'resource' | 'protocol' | 'prevented';
      readonly reason: string | undefined;
    }[];
  }[];
}

/** Ends with a line break. */
export function renderPlan(plan: PlanView): string {
  const lines = [
    ...plan.cells.flatMap(cellLines),
    `seed ${plan.seed} · plan ${plan.hash.slice(0, 12)} · each ${plan.repeat}x · nothing was touched`,
  ];
  return `${lines.map(printable).join('\n')}\n`;
}

function cellLines(cell: PlanView['cells'][number]): readonly string[] {
  const width = Math.max(...cell.steps.map(({ id }) => id.length));
  const lease = `lease asked ${cell.leaseMs} ms, ends up to ${cell.granularityMs} ms late`;
  return [
    `${cell.scenario} on ${cell.column}: ${cell.title}`,
    `  protocol   ${cell.protocol} (${cell.protocolTitle})`,
    `  lease      ${lease}`,
    `  resource   accepts ${cell.accept}`,
    ...cell.steps.map(({ id, text, span, undo }) => {
      const more = [span, undo === undefined ? undefined : `undo: ${undo}`];
      const notes = more.filter((part) => part !== undefined).join('; ');
      return `    ${padCells(id, width)}  ${text}${notes === '' ? '' : `   [${notes}]`}`;
    }),
    `  judged     ${cell.invariants.join(', ')}`,
    ...cell.controls.map(({ mutate, how, reason }) =>
      how === 'prevented'
        ? `  control    ${mutate}: prevented by layout, ${reason ?? ''}`
        : `  control    ${mutate}: broken ${how}, must go red`,
    ),
    '',
  ];
}
