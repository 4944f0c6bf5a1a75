/** One release as the audit log tells it. */
import type { Text } from './text.ts';

export interface AuditRecord {
  /** Line of the intent, as `release` names it: `2026-12-02#3`. */
  readonly place: string;
  /** When the intent was written: RFC 3339, by the clock of the machine that released. */
  readonly at: Text;
  readonly lock: Text;
  /** Undefined: none was recorded, so the program ended in between and anything may have happened. */
  readonly outcome: Text | undefined;
  /** Whose grant it was, as far as that was seen. */
  readonly owners: readonly Text[];
  readonly user: Text | undefined;
  readonly host: Text | undefined;
  readonly target: Text | undefined;
  readonly expect: Text | undefined;
  readonly reason: Text | undefined;
  readonly overrides: Readonly<Record<string, Text>>;
}
