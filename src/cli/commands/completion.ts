/** `fencepost completion SHELL`, and the hidden command that its scripts call at each Tab. */
import { Argument } from 'commander';
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
      let candidates = completeWords(program, words);
      if (typeof candidates === 'string') {
        const { askFor } = await import('../complete-values.ts');
        candidates = await askFor(candidates, words, io);
      }
      await io.out(candidates.map((line) => `${line}\n`).join(''));
    });
};
