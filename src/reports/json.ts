/** JSON as every command prints it: 64-bit numbers as decimal strings, versioned. */

/** Raised when a field changes its meaning or goes away; new fields do not raise it. */
export const schemaVersion = 1;

/** One line of JSON, without a line break. `undefined` fields are left out. */
export function toJsonLine(value: unknown): string {
  return JSON.stringify(value, decimalStrings);
}

/** JSON for people: two spaces a level. */
export function toJsonText(value: unknown): string {
  return JSON.stringify(value, decimalStrings, 2);
}

function decimalStrings(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
