/** A scenario after validation: what will be done, to whom, and what must hold. Plain data. */
import type { Verdict } from './verdict.ts';

/** A span that may depend on the granted lease: `factor * lease + addMs`. */
export interface Span {
  readonly leaseFactor: number;
  readonly addMs: number;
}

export type AcceptRule = 'greater' | 'greater-or-equal' | 'any';

export type ResourceKind = 'orders' | 'stock' | 'effects' | 'tasks';

export interface StepExpectation {
  readonly outcome?: 'ok' | 'fail' | 'unknown';
  readonly code?: string;
  readonly accepted?: boolean;
}

export type Step = { readonly id: string; readonly line: number } & (
  | {
      readonly kind: 'acquire';
      readonly worker: string;
      /** How long to wait for a busy lock; undefined tries once. */
      readonly wait?: Span;
      readonly park?: string;
      readonly expect?: StepExpectation;
    }
  | {
      readonly kind: 'renew' | 'release' | 'confirm';
      readonly worker: string;
      readonly park?: string;
      readonly expect?: StepExpectation;
    }
  | {
      readonly kind: 'business';
      readonly worker: string;
      /** `close-order`, `pay-order`, `release-stock`, `write`, `effect`, `checkpoint`. */
      readonly action: string;
      readonly subject: string;
      /** Idempotency key of the effect; undefined: one per action and subject. */
      readonly operation?: string;
      readonly value?: string;
      /** The worker refuses by itself when it knows that its lease is over. */
      readonly selfCheck?: boolean;
      /** Park point inside the operation; the step ends when the worker says `parked`. */
      readonly park?: string;
      readonly expect?: StepExpectation;
    }
  /** Lets a parked worker continue; the step ends with the parked operation's result. */
  | { readonly kind: 'go'; readonly worker: string; readonly expect?: StepExpectation }
  | {
      readonly kind: 'wait';
      /** As the service itself shows it: no record; held by `worker`; not held by `worker`. */
      readonly until: 'absent' | 'held-by' | 'free-or-other';
      readonly worker?: string;
      readonly within: Span;
      /** How the hold must have ended. `expired` is proven by the server's clock, as a fault is. */
      readonly cause: 'expired' | 'any';
    }
  | {
      readonly kind: 'fault';
      readonly fault: string;
      readonly worker?: string;
      readonly options: Readonly<Record<string, string | number | boolean>>;
      /** The fault is undone at the latest after this span. */
      readonly lifetime: Span;
    }
  /** Ends a fault begun by the step with id `fault`. */
  | { readonly kind: 'end-fault'; readonly fault: string; readonly worker?: string }
);

export interface InvariantSpec {
  readonly name: string;
  /** `service`, `effect`, `belief` for mutual exclusion; undefined otherwise. */
  readonly level?: string;
  readonly within?: Span;
  readonly options: Readonly<Record<string, string | number | boolean>>;
}

export interface ControlSpec {
  /** Mutation role: `resource-accepts-any`, `release-without-owner-check` … */
  readonly mutate: string;
  readonly expect: Readonly<Record<string, Verdict>>;
}

/** A user's own program that speaks the worker protocol. */
export interface WorkerProgram {
  readonly command: readonly [string, ...string[]];
  /** Folder of the scenario file: the program runs there, so its relative paths start there. */
  readonly folder: string;
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly seed: string | undefined;
  readonly protocol: string;
  readonly lock: {
    readonly name: string;
    readonly leaseMs: number;
    readonly renewEveryMs: number | undefined;
  };
  readonly resource: { readonly kind: ResourceKind; readonly accept: AcceptRule };
  readonly workers: readonly string[];
  /** What every worker runs; undefined: the worker that comes with this program. */
  readonly worker: WorkerProgram | undefined;
  readonly limits: { readonly runMs: number; readonly faultMs: number };
  readonly steps: readonly Step[];
  readonly invariants: readonly InvariantSpec[];
  readonly reportOnly: readonly InvariantSpec[];
  readonly controls: readonly ControlSpec[];
  readonly expect: Readonly<Record<string, Verdict>>;
  /** Why an invariant is expected to come out as it does, by its name. */
  readonly reasons: Readonly<Record<string, string>>;
}
