/** One lock in full, for people: a heading, then one labelled block for each question. */
import { formatDuration } from '../domain/duration.ts';
import type { FenceRecord } from '../domain/fence.ts';
import type { Holder, Waiter } from '../domain/holder.ts';
import { valueOf, type Known } from '../domain/known.ts';
import type { RenewalSample } from '../domain/lease.ts';
import type { Liveness, LivenessVerdict } from '../domain/liveness.ts';
import type { LockDetail } from '../domain/lock.ts';
import { endedWord, fenceRecordOwner } from './locks-history.ts';
import { serverWarnings } from './locks-list.ts';
import {
  fenceWord,
  knownWord,
  leaseCell,
  leaseSentence,
  ownerWord,
  paintState,
  stateWord,
  unknownSentence,
} from './locks-words.ts';
import type { Paint } from './paint.ts';
import { renderTable } from './table.ts';

export interface ShownHistory {
  /** The newest few, oldest first. */
  readonly records: readonly FenceRecord[];
  readonly total: number;
  readonly complete: Known<string>;
}

export interface ShownLock {
  readonly lock: LockDetail;
  readonly sample: RenewalSample | undefined;
  readonly liveness: Liveness | undefined;
  readonly history: ShownHistory;
  readonly releaseCommand: string | undefined;
}

const labelCells = 11;

/** Lines without line breaks. */
export async function showText(shown: ShownLock, paint: Paint): Promise<readonly string[]> {
  const { lock } = shown;
  return [
    heading(lock, paint),
    ...block(
      'warning',
      serverWarnings(lock.server).map((line) => paint.warn(line)),
    ),
    ...block('server', [serverSentence(lock)]),
    ...block('owner', holderLines(lock)),
    ...block('lease', [leaseLine(lock)]),
    ...block('held', [heldLine(lock)]),
    ...block('waiters', await waiterLines(lock)),
    ...block('fence', [fenceLine(lock)]),
    ...block('history', await historyLines(shown.history)),
    ...block('helpers', lock.helpers),
    ...noteLines(lock, paint),
    ...livenessLines(shown, paint),
    ...block('expect', lock.identity === undefined ? [] : [lock.identity.expect]),
    ...nextLines(shown),
  ];
}

/** A label and its lines; a block without lines is left out. */
function block(label: string, lines: readonly string[]): readonly string[] {
  return lines.map((line, at) => {
    return `  ${(at === 0 ? label : '').padEnd(labelCells)}${line}`.trimEnd();
  });
}

function heading(lock: LockDetail, paint: Paint): string {
  const { recognition } = lock;
  const sure = recognition.forced ? 'as asked' : `${recognition.confidence} confidence`;
  const others =
    recognition.candidates.length === 0
      ? ''
      : `, could also be ${recognition.candidates.join(', ')}`;
  return [
    paint.heading(lock.ref.name),
    paintState(stateWord(lock.state).toUpperCase(), lock.state, paint),
    `${recognition.title} (${sure}${others})`,
    ...(lock.mode === 'exclusive' ? [] : [lock.mode]),
    `owner ${ownerWord(lock, true)}`,
  ].join('   ');
}

function serverSentence({ server }: LockDetail): string {
  const role = valueOf(server.role);
  const word =
    role ?? (server.role.kind === 'unknown' ? `role ${unknownSentence(server.role)}` : '');
  const slot = server.slot === undefined ? '' : `, slot ${server.slot}`;
  return `${server.endpoint}, ${word}${slot}${server.via === undefined ? '' : ` (${server.via})`}`;
}

function holderLines(lock: LockDetail): readonly string[] {
  if (lock.holders.kind === 'unknown') return [unknownSentence(lock.holders)];
  const lines = lock.holders.value.map((holder) => holderLine(holder));
  if (lock.holders.kind === 'partial') lines.push(`and maybe more: ${lock.holders.reason}`);
  return lines.length === 0 ? ['nobody'] : lines;
}

function holderLine(holder: Holder): string {
  const parts = [holder.owner === '' ? '(empty value)' : holder.owner, placeWords(holder)];
  if (holder.holds > 1) parts.push(`${holder.holds} holds`);
  if (holder.mode !== undefined) parts.push(`mode ${holder.mode}`);
  if (holder.lease !== undefined) parts.push(`its own lease: ${leaseSentence(holder.lease)}`);
  if (holder.record !== undefined) parts.push(`record ${holder.record}`);
  return parts.join('   ');
}

function placeWords({ place }: Holder): string {
  if (place.kind === 'unknown') return `host unknown: ${place.reason}`;
  const { host, pid, thread, source } = place.value;
  const words = [
    ...(host === undefined ? [] : [`host ${host}`]),
    ...(pid === undefined ? [] : [`pid ${pid}`]),
    ...(thread === undefined ? [] : [`thread ${thread}`]),
  ];
  return words.length === 0 ? `host unknown (${source})` : `${words.join(' ')} (${source})`;
}

function leaseLine(lock: LockDetail): string {
  const { lease } = lock;
  if (lock.state === 'free') return 'none: nobody holds it';
  const shared = lease.kind === 'ttl' || lease.kind === 'session' ? lease.shared : undefined;
  if (shared === undefined) return leaseSentence(lease);
  const others =
    shared.kind === 'unknown'
      ? `what else hangs on it is ${unknownSentence(shared)}`
      : shared.value.length === 0
        ? 'nothing else hangs on it'
        : `with it end: ${shared.value.join(', ')}`;
  return `${leaseSentence(lease)}; ${others}`;
}

function heldLine({ heldForMs, holders }: LockDetail): string {
  if (valueOf(holders)?.length === 0) return 'by nobody';
  if (heldForMs.kind === 'unknown') return unknownSentence(heldForMs);
  const least = heldForMs.kind === 'partial' ? `at least, ${heldForMs.reason}` : '';
  return `for ${formatDuration(heldForMs.value)} ${least}`.trimEnd();
}

async function waiterLines({ waiters }: LockDetail): Promise<readonly string[]> {
  switch (waiters.kind) {
    case 'unknown':
      return [unknownSentence(waiters)];
    case 'count':
      return [`${waiters.count} (count only, by ${waiters.source})`];
    case 'exact':
      if (waiters.list.length === 0) return ['0'];
      return renderTable(withoutEmptyColumns(waiterHeading, waiters.list.map(waiterRow)));
  }
}

const waiterHeading = ['#', 'WAITER', 'RECORD', 'LEASE', 'CLIENT', 'WATCHES', 'NOTE'] as const;

/** A question that does not arise for any waiter of this layout has no column. */
function withoutEmptyColumns(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
): readonly (readonly string[])[] {
  const asked = (at: number): boolean => rows.some((row) => row[at] !== '–' && row[at] !== '');
  return [heading, ...rows].map((row) => row.filter((_, at) => asked(at)));
}

function waiterRow(waiter: Waiter): readonly string[] {
  return [
    String(waiter.position),
    waiter.owner ?? '?',
    waiter.record ?? '–',
    waiter.lease === undefined ? '–' : leaseCell(waiter.lease),
    waiter.place === undefined
      ? '–'
      : knownWord(waiter.place, ({ host, source }) => host ?? source),
    waiter.watches === undefined ? '–' : knownWord(waiter.watches, (watched) => watched),
    waiter.note ?? '',
  ];
}

function fenceLine({ fence }: LockDetail): string {
  if (fence.kind === 'unknown') return unknownSentence(fence);
  if (fence.kind === 'none') return 'none: a paused owner can still write';
  return `${fence.token.toString()} (${fence.source})`;
}

async function historyLines(history: ShownHistory): Promise<readonly string[]> {
  const { complete, records, total } = history;
  const statement =
    complete.kind === 'unknown'
      ? unknownSentence(complete)
      : `complete ${complete.value}${complete.kind === 'partial' ? ` (${complete.reason})` : ''}`;
  const more = total > records.length ? `, the newest ${records.length} of ${total}` : '';
  const rows = records.map((record) => [
    fenceWord(record.fence),
    fenceRecordOwner(record),
    endedWord(record.ended),
  ]);
  return [statement + more, ...(await renderTable(rows))];
}

function noteLines({ notes }: LockDetail, paint: Paint): readonly string[] {
  return block(
    'note',
    notes.map((note) => (note.severity === 'warn' ? paint.warn(note.text) : note.text)),
  );
}

function livenessLines({ liveness, sample }: ShownLock, paint: Paint): readonly string[] {
  if (liveness === undefined) return [];
  const verdict = paintVerdict(liveness.verdict, paint);
  const watched = sample === undefined ? ['the lease was not watched (--observe off)'] : [];
  return block('liveness', [verdict, ...liveness.reasons, ...watched]);
}

function paintVerdict(verdict: LivenessVerdict, paint: Paint): string {
  const word = verdict.replace('-', ' ').toUpperCase();
  switch (verdict) {
    case 'alive':
    case 'likely-alive':
      return paint.good(word);
    case 'undecided':
      return paint.warn(word);
    case 'likely-dead':
    case 'dead':
      return paint.bad(word);
  }
}

function nextLines({ lock, releaseCommand }: ShownLock): readonly string[] {
  const remedies = new Set<string>();
  for (const { finding } of lock.evidence) {
    if (finding.kind !== 'known' && finding.remedy !== undefined) remedies.add(finding.remedy);
  }
  const evidence = [...remedies].map((remedy) => `for stronger evidence: ${remedy}`);
  if (releaseCommand === undefined) return evidence.map((line) => `Next: ${line}`);
  const where = lock.server.replicaOf;
  if (where !== undefined) return [`Next: release it on the primary, ${where.primary}`];
  const lines = [...evidence, 'plan its release (changes nothing yet):'];
  return [
    ...lines.map((line, at) => `${at === 0 ? 'Next: ' : '      '}${line}`),
    `  ${releaseCommand}`,
  ];
}
