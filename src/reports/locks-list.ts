/** The listing of locks: its columns and its summary. */
import { valueOf } from '../domain/known.ts';
import type { LockNote, LockSnapshot, ServerView } from '../domain/lock.ts';
import {
  fenceWord,
  heldForWord,
  knownWord,
  leaseWord,
  ownerWord,
  paintState,
  stateWord,
  waitersWord,
} from './locks-words.ts';
import type { Paint } from './paint.ts';
import type { Column } from './table.ts';

/** A lock, and where it was found. */
export interface ListedLock {
  readonly target: string;
  readonly lock: LockSnapshot;
}

export interface ListLayout {
  readonly wide: boolean;
  /** Several targets: say which. */
  readonly withTarget: boolean;
  /** For eyes: shorten random owner tokens. Never for pipes. */
  readonly brief: boolean;
  readonly paint: Paint;
}

export function listColumns(layout: ListLayout): readonly Column<ListedLock>[] {
  const { paint, wide } = layout;
  const target: Column<ListedLock> = { title: 'TARGET', cell: ({ target: name }) => name };
  return [
    ...(layout.withTarget ? [target] : []),
    { title: 'NAME', cell: ({ lock }) => lock.ref.name, shrinkTo: 16 },
    {
      title: 'STATE',
      cell: ({ lock }) => stateWord(lock.state),
      paint: (text, { lock }) => paintState(text, lock.state, paint),
    },
    {
      title: 'OWNER',
      cell: ({ lock }) => ownerWord(lock, layout.brief && !wide),
      shrinkTo: 10,
    },
    { title: 'TTL', cell: ({ lock }) => leaseWord(lock) },
    { title: 'HELD', cell: ({ lock }) => heldForWord(lock) },
    { title: 'WAITERS', cell: ({ lock }) => waitersWord(lock.waiters) },
    { title: 'FENCE', cell: ({ lock }) => fenceWord(lock.fence) },
    ...(wide ? wideColumns : []),
    {
      title: 'NOTE',
      cell: ({ lock }) => (wide ? allNotes(lock.notes) : firstNote(lock.notes)),
      shrinkTo: 12,
    },
  ];
}

const wideColumns: readonly Column<ListedLock>[] = [
  { title: 'MODE', cell: ({ lock }) => lock.mode },
  { title: 'LIBRARY', cell: ({ lock }) => lock.recognition.title },
  {
    title: 'CONFIDENCE',
    cell: ({ lock }) => (lock.recognition.forced ? 'forced' : lock.recognition.confidence),
  },
  {
    title: 'COULD-BE',
    cell: ({ lock }) => lock.recognition.candidates.join(',') || 'none',
  },
  { title: 'SERVER', cell: ({ lock }) => serverWord(lock.server) },
  { title: 'EXPECT', cell: ({ lock }) => lock.identity?.expect ?? '–' },
];

function serverWord(server: ServerView): string {
  return `${server.endpoint} ${knownWord(server.role, (role) => role)}`;
}

function bySeverity(notes: readonly LockNote[]): readonly LockNote[] {
  const warnings = notes.filter((note) => note.severity === 'warn');
  return [...warnings, ...notes.filter((note) => note.severity !== 'warn')];
}

function firstNote(notes: readonly LockNote[]): string {
  const [first, ...others] = bySeverity(notes);
  if (first === undefined) return '';
  return others.length === 0 ? first.text : `${first.text} (+${others.length})`;
}

function allNotes(notes: readonly LockNote[]): string {
  return bySeverity(notes)
    .map((note) => note.text)
    .join('; ');
}

/** What one listing went through; the counters of `ListTally` and our own. */
export interface ListSummary {
  readonly locks: number;
  readonly needAttention: number;
  readonly read: number;
  readonly others: number;
  readonly hidden: number;
  readonly holes: readonly string[];
  readonly elapsedMs: number;
  /** The listing was ended by `--limit`, not by its end. */
  readonly limited: boolean;
  /** Whether the others were asked for (`--all`). */
  readonly all: boolean;
}

/** Lines for stderr: the summary first, then one line for each hole. */
export function summaryLines(summary: ListSummary): readonly string[] {
  const parts = [
    foundWords(summary),
    `${amount(summary.read, 'record')} read in ${(summary.elapsedMs / 1000).toFixed(1)} s`,
    ...(summary.others > 0 && !summary.all
      ? [`${amount(summary.others, 'other record')} (--all)`]
      : []),
    ...hiddenWords(summary),
  ];
  return [parts.join(' · '), ...tailLines(summary)];
}

/** `3 locks, 1 needs attention` */
export function foundWords({ locks, needAttention }: ListSummary): string {
  if (locks === 0) return 'no locks found';
  const verb = needAttention === 1 ? 'needs' : 'need';
  const attention =
    needAttention === 0 ? '' : `, ${needAttention.toLocaleString('en')} ${verb} attention`;
  return amount(locks, 'lock') + attention;
}

export function hiddenWords({ hidden }: ListSummary): readonly string[] {
  return hidden > 0 ? [`${amount(hidden, 'record')} hidden: this account may not read them`] : [];
}

/** What a listing lacks. */
export function tailLines({ limited, holes }: ListSummary): readonly string[] {
  return [
    ...(limited ? ['stopped at --limit: there may be more'] : []),
    ...holes.map((hole) => `incomplete: ${hole}`),
  ];
}

export function amount(number: number, noun: string): string {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;
}

/** Sentences that must be read before the answer is believed: it came from a replica, or is in doubt. */
export function serverWarnings(server: ServerView): readonly string[] {
  const replica = replicaWarning(server);
  return [...(replica === undefined ? [] : [replica]), ...(server.doubts ?? [])];
}

function replicaWarning(server: ServerView): string | undefined {
  const replica = server.replicaOf;
  if (replica === undefined) return undefined;
  const heardS = valueOf(replica.lastHeardS);
  if (replica.link === 'down') {
    const since = heardS === undefined ? '' : ` for ${heardS} s`;
    return `${server.endpoint} is a replica of ${replica.primary} and its link is down${since}: what is shown may be out of date; release there`;
  }
  const lag = knownWord(replica.lagBytes, (bytes) => `${bytes.toLocaleString('en')} bytes`);
  const heard = heardS === undefined ? '' : `, last word ${heardS} s ago`;
  return `this is a replica of ${replica.primary}; it may lag by ${lag === '?' ? 'an unknown amount' : lag}${heard}; release there`;
}
