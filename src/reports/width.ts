/** How many terminal cells a text takes, and fitting it into a number of them. */

/** One cell a character: ASCII, Latin letters, and the dashes and dots that our own words use. */
const plain = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2265]*$/;
const wide =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]/u;
const zero = /^\p{M}+$/u;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Terminal cells of printable text. */
export function displayWidth(text: string): number {
  if (plain.test(text)) return text.length;
  let cells = 0;
  for (const { segment } of graphemes.segment(text)) cells += cellsOf(segment);
  return cells;
}

function cellsOf(grapheme: string): number {
  return zero.test(grapheme) ? 0 : wide.test(grapheme) ? 2 : 1;
}

/** Pads with spaces on the right; longer text is left as it is. */
export function padCells(text: string, cells: number): string {
  return text + ' '.repeat(Math.max(0, cells - displayWidth(text)));
}

/** Cuts text that is too long and ends it with `…`. */
export function fitCells(text: string, cells: number): string {
  if (displayWidth(text) <= cells) return text;
  let kept = '';
  let used = 1;
  for (const { segment } of graphemes.segment(text)) {
    used += cellsOf(segment);
    if (used > cells) break;
    kept += segment;
  }
  return `${kept}…`;
}
