/**
 * The README's console blocks as one shell session: commands after `$ `, the output they print
 * after them, `exit N` for a code that is not 0, and `…` for lines left out.
 */

export interface ConsoleCommand {
  /** 1-based line of the README. */
  readonly line: number;
  readonly command: string;
  readonly output: readonly string[];
  readonly exitCode: number;
}

/** Every command of every ```console block, in order. A command may go on after a `\` at its line's end. */
export function readConsoleBlocks(markdown: string): readonly ConsoleCommand[] {
  const commands: { line: number; command: string; output: string[]; exitCode: number }[] = [];
  let inside = false;
  let continues = false;
  markdown.split('\n').forEach((text, index) => {
    if (text.startsWith('```')) {
      inside = text === '```console';
      return;
    }
    if (!inside) return;
    const last = commands.at(-1);
    if (text.startsWith('$ ')) {
      commands.push({ line: index + 1, command: text.slice(2), output: [], exitCode: 0 });
    } else if (last !== undefined && continues) {
      last.command += `\n${text}`;
    } else if (last !== undefined) {
      const code = /^exit (\d+)$/.exec(text)?.[1];
      if (code === undefined) last.output.push(text);
      else last.exitCode = Number(code);
    }
    continues = (text.startsWith('$ ') || continues) && text.endsWith('\\');
  });
  return commands;
}

/** What changes from run to run becomes a placeholder: numbers with or without units, ids, addresses. */
export function normalise(line: string): string {
  return line
    .replace(/\b[0-9a-f]{6,}\b/g, '<id>')
    .replace(/\b\d+(?:[.,]\d+)*\s?(?:ms|s|m|h|d)?(?:\d+(?:s|m|h))?\b/g, '<n>')
    .replace(/█+/g, '<bar>')
    .replace(/ {2,}/g, '  ')
    .trimEnd();
}

/** Whether the printed lines are the documented ones; a documented `…` stands for any number of lines. */
export function sameOutput(documented: readonly string[], printed: readonly string[]): boolean {
  const pattern = documented.map(normalise);
  const lines = printed.map(normalise);
  const match = (at: number, line: number): boolean => {
    if (at === pattern.length) return line === lines.length;
    if (pattern[at]?.trim() === '…') {
      return match(at + 1, line) || (line < lines.length && match(at, line + 1));
    }
    return line < lines.length && pattern[at] === lines[line] && match(at + 1, line + 1);
  };
  return match(0, 0);
}
