/** Renders a run in the form asked for: the same for `run` and `report`. */
import { pictureOfArm } from '../../chaos/run-pictures.ts';
import type { FinishedRun } from '../../chaos/run-folder.ts';
import { runReportShape } from '../../chaos/run-report-schema.ts';
import type { RunReport } from '../../domain/run-report.ts';
import { toJsonText } from '../../reports/json.ts';
import { renderJunit } from '../../reports/junit.ts';
import { renderHtml } from '../../reports/run-html.ts';
import { renderMarkdown } from '../../reports/run-markdown.ts';
import { renderRun } from '../../reports/run-terminal.ts';
import type { Io } from '../io.ts';
import { paintFor, type RunFormat } from '../output.ts';

export async function printRun(run: FinishedRun, format: RunFormat, io: Io): Promise<void> {
  const { report } = run;
  switch (format) {
    case 'table':
    case 'text':
      return io.out(`${renderRun(report, await paintFor(io)).join('\n')}\n`);
    case 'json':
      return io.out(runJson(report));
    case 'junit':
      return io.out(renderJunit(report));
    case 'md':
      return io.out(renderMarkdown(report));
    case 'html':
      return io.out(runHtml(run));
  }
}

/** The text of `run.json`, in the order of its schema: read again, a run prints the same bytes. */
export function runJson(report: RunReport): string {
  return `${toJsonText(runReportShape.safeParse(report).data ?? report)}\n`;
}

/** One page, with the timelines of the histories in the run's folder. */
export function runHtml({ folder, report }: FinishedRun): string {
  return renderHtml(report, (arm) => pictureOfArm(folder, arm));
}
