/** Every command, in the order of the help. Its module is loaded when its name is typed. */
import type { RegisterCommand } from './command.ts';

export interface CommandEntry {
  readonly name: string;
  /** One line for the list of commands; the command's own help says more. */
  readonly summary: string;
  load(): Promise<RegisterCommand>;
}

export const commands: readonly CommandEntry[] = [
  {
    name: 'lab',
    summary: 'throwaway servers on this machine',
    load: async () => (await import('./lab.ts')).registerLab,
  },
];
