/** `fencepost completion SHELL`, and the hidden command that its scripts call at each Tab. */
import { Argument } from 'commander';
import { FencepostError } from '../../domain/errors.ts';
import type { Io } from '../io.ts';
import type { RegisterCommand } from './command.ts';
import { completionScript, shells } from '../complete-scripts.ts';

const details = `
Examples:
  source <(fencepost completion bash)                                  # this bash
  fencepost completion bash > ~/.local/share/bash-completion/completions/fencepost
  fencepost completion zsh > "\${fpath[1]}/_fencepost"
  fencepost completion fish > ~/.config/fish/completions/fencepost.fish`;

export const registerCompletion: RegisterCommand = (program, io) => {
  program
    .command('completion')
    .summary('print the completion script of a shell')
    .description('Print the completion script of a shell. It asks fencepost itself at each Tab.')
    .addArgument(new Argument('<shell>').choices(shells))
    .addHelpText('after', details)
    .action(async (shell: string) => {
      await io.out(completionScript(shell));
    });
};

/** Not for people: the words typed so far in, one candidate a line out. */
export const registerComplete: RegisterCommand = (program, io) => {
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .passThroughOptions()
    .helpOption(false)
    .action(async (words: readonly string[]) => {
      const { completeWords } = await import('../complete.ts');
      const values = words.at(-2) === '--convention' ? await conventionNames(words, io) : [];
      const candidates = completeWords(program, words, values);
      await io.out(candidates.map((line) => `${line}\n`).join(''));
    });
};

/** Every convention by name; a file of own ones that cannot be read adds none. */
async function conventionNames(words: readonly string[], io: Io): Promise<readonly string[]> {
  const { allConventions } = await import('../../config/catalogue.ts');
  const { loadConventions } = await import('../../config/conventions-file.ts');
  const { noConventions } = await import('../../conventions/convention-set.ts');
  const flag = words.indexOf('--conventions');
  const named = flag === -1 ? undefined : words[flag + 1];
  const own = await loadConventions(named, io.env).catch((error: unknown) => {
    if (error instanceof FencepostError) return noConventions;
    throw error;
  });
  const titles = new Map(allConventions(own).map(({ id, title }) => [id, title]));
  return [...titles].map(([id, title]) => `${id}\t${title}`);
}
