/** `fencepost heal`: undoes what interrupted runs left behind. */
import { exitCodes } from '../../domain/errors.ts';
import { printable, redactSecrets } from '../../reports/escape.ts';
import { toJsonText } from '../../reports/json.ts';
import { addOutputOption } from '../output.ts';
import type { RegisterCommand } from './command.ts';

export const registerHeal: RegisterCommand = (program, io, setExit) => {
  const command = program
    .command('heal')
    .summary('undo what an interrupted run left behind')
    .description(
      'Undo what interrupted runs left behind: stopped workers, keys, schemas, servers of the lab.\n' +
        'Runs that still go on are not touched. A password for the target is read from\n' +
        'FENCEPOST_PASSWORD, one for the database of the resource from its URL in FENCEPOST_RESOURCE.',
    );
  addOutputOption(command, ['table', 'json']).action(async (options: { output: string }) => {
    const { heal, secretsFrom } = await import('../../chaos/heal.ts');
    const runs = await heal(io.env, secretsFrom(io.env));
    const { tidyLabs } = await import('../../lab/leftovers.ts');
    const labs = await tidyLabs(io.env);
    for (const line of labs) io.err(`fencepost: ${line}\n`);
    if (options.output === 'json') {
      await io.out(`${toJsonText({ schemaVersion: 1, runs })}\n`);
    } else {
      if (runs.length === 0 && labs.length === 0) io.err('fencepost: nothing to heal\n');
      for (const { runId, undone, left } of runs) {
        const lines = [
          ...undone.map((what) => `${runId}  undone  ${what}`),
          ...left.map((what) => `${runId}  LEFT    ${what}`),
        ];
        for (const line of lines) await io.out(`${redactSecrets(printable(line))}\n`);
      }
    }
    if (runs.some(({ left }) => left.length > 0)) setExit(exitCodes.undo);
  });
};
