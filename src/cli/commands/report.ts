/** `fencepost report`: renders a finished run again, from its folder. */
import { addOutputOption, runFormats, type RunFormat } from '../output.ts';
import type { RegisterCommand } from './command.ts';

interface ReportOptions {
  readonly out: string;
  readonly output: RunFormat;
}

export const registerReport: RegisterCommand = (program, io) => {
  const command = program
    .command('report')
    .summary('show a finished run again')
    .description('Render a finished run again. Exits 0: the verdict is in the report.')
    .argument('[run]', 'id or folder of a run', 'latest')
    .option('--out <folder>', 'where the folders of runs are', 'fencepost-runs');
  addOutputOption(command, runFormats).action(async (run: string, options: ReportOptions) => {
    const { readRun } = await import('../../chaos/run-folder.ts');
    const { printRun } = await import('./run-output.ts');
    await printRun(readRun(run, options.out), options.output, io);
  });
};
