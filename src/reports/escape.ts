/** What makes text safe to print, and safe to paste into a shell. */

/**
 * Disarms text that is not a server's `Text`: error messages of libraries, command line arguments.
 * Line breaks stay; any other control, format or separator character becomes an escape.
 */
export function printable(text: string): string {
  return text.replace(/[^\P{C}\n]|[\p{Zl}\p{Zp}]/gu, (char) => {
    const code = char.codePointAt(0) ?? 0;
    return code < 0x80 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
  });
}

/**
 * Blots out the password of every URL in a message: whatever stands between `user:` and the last `@`
 * of the word, or of the line when the password holds a space. A port is no password.
 */
export function redactSecrets(text: string): string {
  return text.replace(/(:\/\/[^\s/:@]*):(?:\S*@|(?!\d{1,5}(?:[^\w]|$))[^\n]*@)/g, '$1:***@');
}

/** Quotes one argument for a POSIX shell. Words that need no quotes stay as they are. */
export function shellQuote(argument: string): string {
  if (/^[\w%+,./:=@-]+$/.test(argument)) return argument;
  return `'${argument.replaceAll("'", "'\\''")}'`;
}

/** Text for XML content and attributes. Characters that XML 1.0 cannot carry become escapes. */
export function escapeXml(text: string): string {
  return printable(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&apos;')
    .replaceAll('\n', '&#10;');
}

/** Text for a Markdown line or table cell: nothing in it is markup, and it stays on one line. */
export function escapeMarkdown(text: string): string {
  return printable(text)
    .replace(/[\\`*_{}[\]<>#|~!&]/g, '\\$&')
    .replaceAll('\n', ' ');
}
