/**
 * A history as a picture: lanes, holds, marks and what joins them, in milliseconds since its first
 * event. The judge's side draws it up, reports render it; neither knows of the other.
 */

export interface PictureLane {
  readonly kind: 'worker' | 'service' | 'resource';
  readonly title: string;
}

/**
 * - `asked`: an acquire waits for its reply
 * - `held`: the holder may trust its grant: until release, loss told, or its own deadline
 * - `believed`: past the deadline, and nobody has told the holder
 * - `record`: the lock service showed this owner
 */
export interface PictureBar {
  readonly lane: number;
  readonly kind: 'asked' | 'held' | 'believed' | 'record';
  readonly fromMs: number;
  readonly toMs: number;
  /** Number of the grant among those of its lock, from 0: bars of one grant share a colour. */
  readonly grant: number;
  readonly text: string;
  readonly about: string;
}

export type PictureTone = 'ok' | 'refused' | 'unknown' | 'gone';

export interface PictureMark {
  readonly lane: number;
  readonly atMs: number;
  readonly tone: PictureTone;
  readonly text: string;
  readonly about: string;
}

/** A fault, from begin to end, over one lane or, without `lane`, over all. */
export interface PictureBand {
  readonly lane: number | undefined;
  readonly fromMs: number;
  readonly toMs: number;
  readonly text: string;
  readonly about: string;
}

export interface PicturePoint {
  readonly lane: number;
  readonly atMs: number;
}

/** A request on its way to the resource. */
export interface PictureLink {
  readonly from: PicturePoint;
  readonly to: PicturePoint;
  readonly tone: PictureTone;
}

/** Joins the first and the last event that show a violation. */
export interface PictureArrow {
  readonly from: PicturePoint;
  readonly to: PicturePoint;
  readonly text: string;
  readonly about: string;
}

export interface RunPicture {
  readonly durationMs: number;
  readonly lanes: readonly PictureLane[];
  readonly bands: readonly PictureBand[];
  readonly bars: readonly PictureBar[];
  readonly links: readonly PictureLink[];
  readonly marks: readonly PictureMark[];
  readonly arrows: readonly PictureArrow[];
  /** What is not drawn, and how many of it; empty when all is. */
  readonly leftOut: readonly string[];
}
