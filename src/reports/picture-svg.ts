/**
 * A picture of a run as SVG. Every element carries its time, so that the page's script can move it
 * when somebody zooms in; without the script it shows the whole run.
 */
import type {
  PictureArrow,
  PictureBand,
  PictureBar,
  PictureLane,
  PictureLink,
  PictureMark,
  RunPicture,
} from '../domain/run-picture.ts';
import { escapeXml } from './escape.ts';
import { placeLabels, type LabelSpot } from './place-labels.ts';
import { displayWidth } from './width.ts';

const width = 1200;
/** Left and right edge of the plot; page.js knows them too. */
const [left, right] = [170, 1190];
const top = 34;
const laneHeight = 76;
/** From the line of the marks to the second line of labels. */
const rowHeight = 15;
const charWidth = 6.6;
const colours = 6;
const longestTitle = 22;

interface Place {
  readonly x: (ms: number) => number;
  /** Top of a lane. */
  readonly y: (lane: number) => number;
  readonly height: number;
}

const laneOrder: readonly PictureLane['kind'][] = ['worker', 'service', 'resource'];

/** What all pictures of a page refer to; once, where it is never folded away. */
export const pictureDefinitions = `<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>
<pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="hatch" x1="0" y1="0" x2="0" y2="8"/></pattern>
<marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path class="head" d="M0 0L10 5L0 10z"/></marker>
<clipPath id="plot"><rect x="${left - 6}" y="0" width="${right - left + 12}" height="100000"/></clipPath>
</defs></svg>`;

export function renderPicture(picture: RunPicture, label: string): string {
  const place = placeOf(picture);
  const { durationMs } = picture;
  const parts = [
    ticks(durationMs, place),
    ...picture.lanes.map((lane, at) => laneSvg(lane, place.y(at))),
    '<g clip-path="url(#plot)">',
    ...picture.bands.map((band) => bandSvg(band, place)),
    ...picture.bars.map((bar) => barSvg(bar, place)),
    ...picture.links.map((link) => linkSvg(link, place)),
    ...marksSvg(picture.marks, place),
    ...picture.arrows.map((arrow) => arrowSvg(arrow, place)),
    '</g>',
  ];
  const name = escapeXml(label);
  return `<svg viewBox="0 0 ${width} ${place.height}" data-duration="${durationMs}" tabindex="0" role="img" aria-label="${name}">${parts.join('\n')}</svg>`;
}

function placeOf({ lanes, durationMs }: RunPicture): Place {
  const rows = lanes
    .map(({ kind }, lane) => ({ lane, rank: laneOrder.indexOf(kind) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ lane }) => lane);
  return {
    x: (ms) => round(left + (ms / durationMs) * (right - left)),
    y: (lane) => top + rows.indexOf(lane) * laneHeight,
    height: top + lanes.length * laneHeight + 8,
  };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function ticks(durationMs: number, { x, height }: Place): string {
  const rough = durationMs / 8;
  const power = 10 ** Math.floor(Math.log10(rough));
  const stepMs = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  const digits = Math.max(0, -Math.floor(Math.log10(stepMs / 1000)));
  const count = Math.floor(durationMs / stepMs);
  const all = Array.from({ length: count + 1 }, (_, at) => {
    const text = `${((at * stepMs) / 1000).toFixed(digits)} s`;
    return `<g class="tick" transform="translate(${x(at * stepMs)} 0)"><line y1="20" y2="${height}"/><text y="14" text-anchor="middle">${text}</text></g>`;
  });
  return `<g class="ticks">${all.join('')}</g>`;
}

const kindWords = { worker: 'worker', service: 'lock service', resource: 'resource' } as const;

function laneSvg({ kind, title }: PictureLane, y: number): string {
  const name = escapeXml(shortened(title));
  return `<line class="lane" x1="0" y1="${y + laneHeight}" x2="${width}" y2="${y + laneHeight}"/><text class="title" x="10" y="${y + 26}">${name}<title>${escapeXml(title)}</title></text><text class="kind" x="10" y="${y + 42}">${kindWords[kind]}</text>`;
}

/** Long names end alike less often than they begin alike. */
function shortened(title: string): string {
  return title.length <= longestTitle ? title : `…${title.slice(1 - longestTitle)}`;
}

function bandSvg({ lane, fromMs, toMs, text, about }: PictureBand, place: Place): string {
  const [y, height] =
    lane === undefined ? [top - 12, place.height - top + 4] : [place.y(lane) + 2, laneHeight - 4];
  const [from, to] = [place.x(fromMs), place.x(toMs)];
  const label = fits(text, to - from) ? '' : ' style="display:none"';
  return `<g class="band" ${span(fromMs, toMs)}><rect x="${from}" y="${y}" width="${Math.max(to - from, 1)}" height="${height}"/><text x="${from + 4}" y="${y + 12}"${label}>${escapeXml(text)}</text>${tip(about)}</g>`;
}

function barSvg(
  { lane, kind, fromMs, toMs, grant, text, about }: PictureBar,
  place: Place,
): string {
  const y = place.y(lane) + 18;
  const [from, to] = [place.x(fromMs), place.x(toMs)];
  const shown = text !== '' && fits(text, to - from) ? '' : ' style="display:none"';
  return `<g class="bar ${kind} g${grant % colours}" ${span(fromMs, toMs)}><rect x="${from}" y="${y}" width="${Math.max(to - from, 1)}" height="18" rx="3"/><text x="${(from + to) / 2}" y="${y + 13}"${shown}>${escapeXml(text)}</text>${tip(about)}</g>`;
}

function linkSvg({ from, to, tone }: PictureLink, place: Place): string {
  const [y1, y2] = [place.y(from.lane) + 36, place.y(to.lane) + markY - 6];
  return `<path class="link ${tone}" ${span(from.atMs, to.atMs)} data-c="${y1}" data-d="${y2}" d="M${place.x(from.atMs)} ${y1}L${place.x(to.atMs)} ${y2}"/>`;
}

const markY = 50;

const shapes: Readonly<Record<PictureMark['tone'], string>> = {
  ok: 'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0',
  refused: 'M-4 -4L4 4M-4 4L4 -4',
  unknown: 'M0 -5L5 4L-5 4z',
  gone: 'M0 -5L5 0L0 5L-5 0z',
};

const rank: Readonly<Record<PictureMark['tone'], number>> = {
  refused: 0,
  unknown: 0,
  gone: 1,
  ok: 2,
};

function marksSvg(marks: readonly PictureMark[], place: Place): readonly string[] {
  const labelled = marks.map(({ lane, atMs, tone, text }) => ({
    lane,
    x: place.x(atMs),
    width: round(displayWidth(text) * charWidth),
    rank: rank[tone],
  }));
  const spots = placeLabels(labelled, left - 6, right + 6);
  return labelled.map(({ lane, x, width: labelWidth }, at) => {
    const { atMs = 0, tone = 'ok', text = '', about = '' } = marks[at] ?? {};
    const y = place.y(lane) + markY;
    const label = `<text ${labelAttributes(spots[at])}>${escapeXml(text)}</text>`;
    const data = `data-a="${round(atMs)}" data-y="${y}" data-lane="${lane}" data-width="${labelWidth}" data-rank="${rank[tone]}"`;
    return `<g class="mark ${tone}" ${data} transform="translate(${x} ${y})"><path d="${shapes[tone]}"/>${label}${tip(about)}</g>`;
  });
}

function labelAttributes(spot: LabelSpot | undefined): string {
  if (spot === undefined) return 'style="display:none"';
  const x = spot.anchor === 'start' ? 7 : -7;
  return `x="${x}" y="${4 + spot.row * rowHeight}" text-anchor="${spot.anchor}"`;
}

function arrowSvg({ from, to, text, about }: PictureArrow, place: Place): string {
  const [y1, y2] = [place.y(from.lane) + markY - 6, place.y(to.lane) + markY - 6];
  const [x1, x2] = [place.x(from.atMs), place.x(to.atMs)];
  // Within a lane it arches over what lies between.
  const middle = y1 === y2 ? y1 - 34 : (y1 + y2) / 2;
  const x = round((x1 + x2) / 2);
  const anchor = x > (left + right) / 2 ? 'end' : 'start';
  const times = span(from.atMs, to.atMs);
  return `<g class="arrow"><path ${times} data-c="${y1}" data-d="${y2}" marker-end="url(#head)" d="M${x1} ${y1}C${x1 + 24} ${middle} ${x2 - 24} ${middle} ${x2} ${y2}"/><text ${times} x="${x}" y="${middle + 4}" text-anchor="${anchor}">${escapeXml(text)}</text>${tip(about)}</g>`;
}

function span(fromMs: number, toMs: number): string {
  return `data-a="${round(fromMs)}" data-b="${round(toMs)}"`;
}

function tip(about: string): string {
  return `<title>${escapeXml(about)}</title>`;
}

function fits(text: string, room: number): boolean {
  return displayWidth(text) * charWidth + 4 <= room;
}
