/** Every command, in the order of the help. */
import type { RegisterCommand } from './command.ts';

export const commands: readonly RegisterCommand[] = [];
