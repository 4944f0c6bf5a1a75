/** Outcomes of a guarded release, and what a backend tells about it before and after. */
import type { FencingToken } from './fence.ts';
import type { OwnerToken, Waiter } from './holder.ts';
import type { Known } from './known.ts';
import type { Text } from './text.ts';

/** A record of the grant, and what is compared in the step that deletes it. */
export interface ReleasedRecord {
  readonly record: Text;
  readonly condition: string;
  /** Where the library lets go by writing, not by deleting: what is written in its place. */
  readonly writes?: Text;
}

/** What executing would do. Pure knowledge of the snapshot: nothing is read or written for it. */
export interface ReleasePreview {
  /** Records that would be deleted (or replaced), each with the condition checked in the same step. */
  readonly deletes: readonly ReleasedRecord[];
  /** Messages and list pushes the owning library would send, in order; empty when waiters poll or watch. */
  readonly wakes: readonly string[];
  /** Who gets the lock next, where the layout tells. */
  readonly next: Known<Waiter | 'nobody'>;
  /** The fence that would be raised in the same step, if there is one. */
  readonly raisesFence:
    { readonly from: FencingToken; readonly to: FencingToken; readonly record: Text } | undefined;
  /** Only where `fenceFloor` was asked for; undefined then: this target cannot write one. */
  readonly fenceFloor?: FloorPreview;
  /** How the server makes it atomic, one sentence. */
  readonly atomicity: string;
  /** Other records that fall with it (blast radius). Empty when none. */
  readonly alsoFalls: Known<readonly Text[]>;
  /** With `endSession`: what a second step would do, to follow `Then would`. */
  readonly afterwards?: string;
  /** Warnings specific to the layout, e.g. `its renewal re-creates a deleted key`. */
  readonly warnings: readonly string[];
  /** False when this layout or server cannot be released safely: HARD, with the reason. */
  readonly possible:
    | { readonly can: true }
    | { readonly can: false; readonly reason: string; readonly remedy?: string };
}

/** The floor that would be written in the same step, or why it cannot be. */
export type FloorPreview =
  | { readonly can: true; readonly record: Text; readonly atLeast: FencingToken }
  | { readonly can: false; readonly reason: string; readonly remedy?: string };

export interface ReleaseOptions {
  /** Replace instead of delete: the operator's record, so that the queue cannot rush in. */
  readonly hold?: { readonly owner: OwnerToken; readonly ttlMs: number };
  /** Also end the owner's lease or session; separate, not atomic, own guard. */
  readonly endSession?: boolean;
  /**
   * Key of a number that the resource reads: the smallest token that it may accept. Raised in the
   * same step above the token of the released grant, never lowered.
   */
  readonly fenceFloor?: Text;
  /** Deadline for the write. After it the outcome is decided by a read, or unknown. */
  readonly timeoutMs: number;
}

/** What a preview depends on. */
export type PreviewOptions = Pick<ReleaseOptions, 'hold' | 'endSession' | 'fenceFloor'>;

/** What became of a session that was to be ended after a release. */
export interface EndedSession {
  /** Its end tells the owner; while it lives the owner has not been told. */
  readonly ended: Known<boolean>;
  /** What was done and what fell with it, for people. */
  readonly text: string;
}

/** What one attempt to delete did. `fenceRaisedTo` is set when a counter or floor was raised, whatever else happened. */
export type ReleaseResult = {
  /** The server's exact answer, escaped. */
  readonly reply: string;
  readonly fenceRaisedTo: FencingToken | undefined;
  /** With `endSession`, once the record was released: what became of the owner's session. */
  readonly session?: EndedSession;
} & (
  | { readonly outcome: 'released'; readonly woken: Known<number> }
  /** The record was no longer the grant seen. `now` describes what is there. Nothing was deleted. */
  | { readonly outcome: 'changed-hands'; readonly now: string }
  | { readonly outcome: 'already-gone' }
  /** The reply was lost and a read could not settle it. */
  | { readonly outcome: 'unknown'; readonly reason: string }
  /** With `endSession`: a record created after our delete fell too. */
  | { readonly outcome: 'foreign-removed'; readonly removed: readonly Text[] }
  /** The server refused before anything happened (permission, read-only replica). */
  | { readonly outcome: 'refused'; readonly reason: string; readonly remedy?: string }
);

export type ReleaseOutcome = ReleaseResult['outcome'] | 'taken-over-by' | 'came-back';
