/** Draws up a history as a picture: who held what when, which work arrived, where a violation lies. */
import type { FaultEvent } from '../domain/event.ts';
import type {
  PictureArrow,
  PictureBand,
  PictureBar,
  PictureLink,
  PictureMark,
  PictureTone,
  RunPicture,
} from '../domain/run-picture.ts';
import { isBusiness } from './attempts.ts';
import type { Attempt, Grant, HistoryIndex, LockHistory, Operation } from './history.ts';
import { atText, Lanes, toMs } from './picture-lanes.ts';
import { Places, replyOf } from './picture-places.ts';
import { recordBars, recordMarks } from './picture-record.ts';
import { grantName } from './witness.ts';

/** Marks beyond this make a picture that nobody reads: the most telling ones are drawn. */
const mostMarks = 1500;

/** A violation to point at: its name and the events that show it. */
export interface Pointed {
  readonly invariant: string;
  readonly note: string;
  readonly witness: readonly number[];
}

export function drawPicture(index: HistoryIndex, violations: readonly Pointed[]): RunPicture {
  const lanes = new Lanes(index);
  const endMs = Math.max(toMs(index.endNs), 1);
  const locks = [...index.locks.values()];
  const marks = [
    ...locks.flatMap((lock) => recordMarks(index, lock, lanes)),
    ...locks.flatMap((lock) => lock.attempts.map((attempt) => attemptMark(attempt, lanes))),
    ...index.operations.flatMap((operation) => operationMark(operation, lanes)),
  ];
  const drawn = mostTelling(marks);
  return {
    durationMs: endMs,
    lanes: lanes.all(),
    bands: bandsOf(index, lanes, endMs),
    bars: locks.flatMap((lock) => [
      ...lock.grants.flatMap((grant) => holdBars(grant, lanes, endMs)),
      ...recordBars(index, lock, lanes, endMs),
    ]),
    links: locks.flatMap((lock) => linksOf(lock, lanes)).slice(0, mostMarks),
    marks: drawn,
    arrows: arrowsOf(violations, index, lanes),
    leftOut: leftOutOf(marks, drawn),
  };
}

function holdBars(grant: Grant, lanes: Lanes, endMs: number): readonly PictureBar[] {
  const shared = { lane: lanes.worker(grant.worker), grant: grant.index };
  const name = grantName(grant);
  const [fromMs, heldMs] = [toMs(grant.grantedNs), Math.min(toMs(grant.endNs), endMs)];
  const text = grant.fence === undefined ? grant.worker : `${grant.fence}`;
  const toldMs = Math.min(toMs(grant.lossNs), toMs(grant.release?.startNs ?? Infinity), endMs);
  const bars: PictureBar[] = [
    {
      ...shared,
      kind: 'asked',
      fromMs: toMs(grant.startNs),
      toMs: fromMs,
      text: '',
      about: `${name} asked at ${atText(toMs(grant.startNs))}, granted at ${atText(fromMs)}`,
    },
    {
      ...shared,
      kind: 'held',
      fromMs,
      toMs: heldMs,
      text,
      about: `${name} held the lock from ${atText(fromMs)} to ${atText(heldMs)}`,
    },
  ];
  if (toldMs <= heldMs) return bars;
  const about = `${name} still believed it held the lock: its lease was over at ${atText(heldMs)}`;
  return [
    ...bars,
    { ...shared, kind: 'believed', fromMs: heldMs, toMs: toldMs, text: `${text}?`, about },
  ];
}

const toneOfOutcome = { ok: 'ok', fail: 'refused', unknown: 'unknown' } as const;

/** Lock operations on the worker's lane; writes are marked where they arrive. */
function operationMark(operation: Operation, lanes: Lanes): readonly PictureMark[] {
  const { invoke, complete, outcome } = operation;
  if (isBusiness(invoke.action)) return [];
  const code = complete?.code ?? (outcome === 'unknown' ? 'no reply' : '');
  const answer = outcome === 'ok' ? 'ok' : code;
  return [
    {
      lane: lanes.worker(invoke.worker),
      atMs: toMs(replyOf(operation)),
      tone: toneOfOutcome[outcome],
      text: outcome === 'ok' ? invoke.action : `${invoke.action} ${code}`,
      about: `${invoke.worker} ${invoke.action}: ${answer}`,
    },
  ];
}

const toneOfFate: Readonly<Record<Attempt['fate'], PictureTone>> = {
  counted: 'ok',
  repeated: 'ok',
  refused: 'refused',
  maybe: 'unknown',
  absent: 'unknown',
};

function attemptMark({ operation, fate, fence }: Attempt, lanes: Lanes): PictureMark {
  const { invoke, complete } = operation;
  const subject = `${invoke.business ?? invoke.action} ${invoke.subject ?? ''}`.trim();
  const token = fence === undefined ? '' : ` with token ${fence}`;
  const code = complete?.code === undefined ? '' : ` (${complete.code})`;
  const number = fence === undefined ? invoke.worker : `${fence}`;
  return {
    lane: lanes.resource(invoke.resource),
    atMs: toMs(replyOf(operation)),
    tone: toneOfFate[fate],
    text: fate === 'refused' ? `${number} refused` : `${number} ${subject}`,
    about: `${invoke.worker} ${subject}${token}: ${fate}${code}`,
  };
}

function linksOf(lock: LockHistory, lanes: Lanes): readonly PictureLink[] {
  return lock.attempts.map(({ operation, fate }) => ({
    from: { lane: lanes.worker(operation.invoke.worker), atMs: toMs(operation.startNs) },
    to: { lane: lanes.resource(operation.invoke.resource), atMs: toMs(replyOf(operation)) },
    tone: toneOfFate[fate],
  }));
}

function bandsOf(index: HistoryIndex, lanes: Lanes, endMs: number): readonly PictureBand[] {
  const ends = new Map(
    index.faults.filter(({ phase }) => phase === 'end').map((fault) => [fault.faultId, fault]),
  );
  return index.faults.flatMap((fault) => {
    if (fault.phase !== 'begin') return [];
    const end = ends.get(fault.faultId);
    const target = fault.target ?? '';
    const from = toMs(index.timeOf(fault));
    const to = end === undefined ? endMs : toMs(index.timeOf(end));
    return [
      {
        lane: lanes.knownWorker(target),
        fromMs: from,
        toMs: to,
        text: `${fault.fault} ${((to - from) / 1000).toFixed(1)} s`,
        about: `${fault.fault} of ${target}: ${evidenceText([fault, ...(end ? [end] : [])])}`,
      },
    ];
  });
}

function evidenceText(faults: readonly FaultEvent[]): string {
  const facts = faults.flatMap(({ evidence }) => evidence.map(({ fact }) => fact));
  return facts.length === 0 ? 'no evidence' : facts.join('; ');
}

/** One arrow for all violations that the same two events show. */
function arrowsOf(
  violations: readonly Pointed[],
  index: HistoryIndex,
  lanes: Lanes,
): readonly PictureArrow[] {
  const places = new Places(index, lanes);
  const arrows = new Map<string, PictureArrow>();
  for (const { invariant, note, witness } of violations) {
    const points = witness.flatMap((seq) => places.of(seq));
    const [from, to] = [points[0], points.at(-1)];
    if (from === undefined || to === undefined) continue;
    const key = JSON.stringify([from, to]);
    const known = arrows.get(key);
    const join = (before: string | undefined, next: string, by: string): string =>
      before === undefined ? next : `${before}${by}${next}`;
    arrows.set(key, {
      from,
      to,
      text: join(known?.text, invariant, ', '),
      about: join(known?.about, `${invariant}: ${note}`, '; '),
    });
  }
  return [...arrows.values()];
}

const rank: Readonly<Record<PictureTone, number>> = { refused: 0, unknown: 0, gone: 1, ok: 2 };

/** All of them, or as many as can be read: what was refused, unknown or lost before what went well. */
function mostTelling(marks: readonly PictureMark[]): readonly PictureMark[] {
  const order = (a: PictureMark, b: PictureMark): number => a.atMs - b.atMs;
  if (marks.length <= mostMarks) return [...marks].sort(order);
  const ranked = [...marks].sort((a, b) => rank[a.tone] - rank[b.tone] || order(a, b));
  return ranked.slice(0, mostMarks).sort(order);
}

function leftOutOf(all: readonly PictureMark[], drawn: readonly PictureMark[]): readonly string[] {
  const missing = all.length - drawn.length;
  if (missing === 0) return [];
  return [
    `${drawn.length} of ${all.length} operations are marked: refused, unknown and lost ones first`,
  ];
}
