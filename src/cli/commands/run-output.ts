/** Renders a run in the form asked for: the same for `run` and `report`. */
import type { RunReport } from '../../domain/run-report.ts';
import { toJsonText } from '../../reports/json.ts';
import { renderJunit } from '../../reports/junit.ts';
import { renderMarkdown } from '../../reports/run-markdown.ts';
import { renderRun } from '../../reports/run-terminal.ts';
import type { Io } from '../io.ts';
import { paintFor } from '../output.ts';

export type RunFormat = 'table' | 'json' | 'junit' | 'md';

export async function printRun(report: RunReport, format: RunFormat, io: Io): Promise<void> {
  switch (format) {
    case 'table':
      return io.out(`${renderRun(report, await paintFor(io)).join('\n')}\n`);
    case 'json':
      return io.out(`${toJsonText(report)}\n`);
    case 'junit':
      return io.out(renderJunit(report));
    case 'md':
      return io.out(renderMarkdown(report));
  }
}
