/** Results of an audit: what each check said, from what evidence, and what to do about it. */

/** From harmless to urgent. */
export const severities = ['low', 'med', 'high', 'crit'] as const;
export type Severity = (typeof severities)[number];

/** One fact a judgement stands on: what was asked, and what the server answered. */
export interface AuditEvidence {
  readonly command: string;
  readonly value: string;
}

/** What one check says of the facts. What was refused is unknown, and never a pass. */
export type Judgement =
  | {
      readonly state: 'pass' | 'fail';
      /** The value found, in words. */
      readonly found: string;
      readonly wanted: string;
      readonly evidence: readonly AuditEvidence[];
    }
  | {
      readonly state: 'unknown';
      /** What was refused or is not told. */
      readonly reason: string;
      /** The permission or the question that would answer it. */
      readonly remedy: string;
      readonly evidence: readonly AuditEvidence[];
    }
  | {
      readonly state: 'not-applicable';
      readonly reason: string;
      readonly evidence: readonly AuditEvidence[];
    };

export interface AuditResult {
  /** Stable, never reused: `R04`. */
  readonly id: string;
  readonly title: string;
  readonly severity: Severity;
  readonly why: string;
  readonly fix: string;
  readonly judgement: Judgement;
  /** `--allow-unknown` names it: shown, and no reason for exit 3. */
  readonly unknownAllowed: boolean;
}

export interface AuditReport {
  /** Target as it may be printed. */
  readonly target: string;
  /** `host:port` that answered, and when (ISO, by this machine's clock). */
  readonly server: string;
  readonly at: string;
  readonly failOn: Severity;
  /** In the order of the registry. */
  readonly results: readonly AuditResult[];
  readonly verdict: 'passed' | 'failed' | 'unknown';
}

/** A check for `--list` and `--explain`: all but its judgement. */
export interface CheckDescription {
  readonly id: string;
  readonly title: string;
  readonly severity: Severity;
  readonly reads: readonly string[];
  readonly why: string;
  readonly fix: string;
}
