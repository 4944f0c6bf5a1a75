/** Colours by meaning, not by name, so that a report says what a word is and not how it looks. */

export interface Paint {
  heading(text: string): string;
  good(text: string): string;
  warn(text: string): string;
  bad(text: string): string;
  faint(text: string): string;
}

const same = (text: string): string => text;

/** No colour: pipes, files, NO_COLOR. */
export const plainPaint: Paint = { heading: same, good: same, warn: same, bad: same, faint: same };

/** Terminal colours; chalk is loaded only here. */
export async function colorPaint(): Promise<Paint> {
  const { Chalk } = await import('chalk');
  // The caller has decided that colour is wanted; chalk's own detection would decide again.
  const chalk = new Chalk({ level: 1 });
  return {
    heading: (text) => chalk.bold(text),
    good: (text) => chalk.green(text),
    warn: (text) => chalk.yellow(text),
    bad: (text) => chalk.red(text),
    faint: (text) => chalk.dim(text),
  };
}
