/** `fencepost check`: options and wiring. */
import { durationValue, listValue } from '../option-values.ts';
import { addOutputOption } from '../output.ts';
import type { CheckOptions } from './check-run.ts';
import type { RegisterCommand } from './command.ts';

const details = `
Examples:
  fencepost check fencepost-runs/latest/history.jsonl
  my-soak-test | fencepost check - --invariant mutual-exclusion --lease 10s
  fencepost check --schema > history.schema.json

Without --invariant, what the history's header declares is judged (a run declares its scenario's
invariants). Where nothing is declared everything is judged that the history puts to the test; what
it does not is listed and no failure, unless nothing is left. A named or declared invariant that is
not exercised exits 3.`;

export const registerCheck: RegisterCommand = (program, io, setExit) => {
  const command = program
    .command('check')
    .summary('judge a recorded history of any program, in any language')
    .description('Judge recorded histories (JSON Lines, format v1): which invariants held?')
    .argument('[files...]', 'histories; - reads from stdin')
    .option('--invariant <name>', 'judge this one; may be given several times', listValue)
    .option('--lease <duration>', 'lease of grants for which the history names none', durationValue)
    .option('--schema', 'print the JSON Schema of one line, and do nothing else');
  addOutputOption(command, ['table', 'json', 'junit'])
    .addHelpText('after', details)
    .action(async (files: readonly string[], options: CheckOptions) => {
      const { checkHistories } = await import('./check-run.ts');
      setExit(await checkHistories(files, options, io));
    });
};
