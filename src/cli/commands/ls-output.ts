/** The forms of a listing: names, JSON, JSON lines, and tables that start before the end is known. */
import type { LockSnapshot } from '../../domain/lock.ts';
import { toJsonLine, schemaVersion } from '../../reports/json.ts';
import { lockLine, summaryJson } from '../../reports/locks-json.ts';
import type { CaptureOrigin } from '../../reports/locks-capture.ts';
import {
  listColumns,
  serverWarnings,
  type ListedLock,
  type ListSummary,
} from '../../reports/locks-list.ts';
import { ColumnLayout } from '../../reports/table.ts';
import type { Io } from '../io.ts';
import { paintFor, type LineWriter, type Progress } from '../output.ts';

/** Takes the locks as they come. */
export interface ListingSink {
  lock(lock: ListedLock): Promise<void>;
  /** No more from this target, or it failed. */
  endOfTarget(): void;
  /** What is held back is shown: called however the listing ended. */
  flush(): Promise<void>;
  /** All was listed. */
  end(summary: ListSummary): Promise<void>;
}

/** Says once for each sentence what speaks against a server's answers: it is true of many rows. */
export function serverWarner(io: Io, progress: Progress): (lock: LockSnapshot) => void {
  const warned = new Set<string>();
  return ({ server }) => {
    if (server.replicaOf === undefined && server.doubts === undefined) return;
    for (const warning of serverWarnings(server)) {
      if (warned.has(warning)) continue;
      warned.add(warning);
      progress.clear();
      io.err(`${warning}\n`);
    }
  };
}

export interface ListingPlace {
  readonly writer: LineWriter;
  readonly progress: Progress;
  readonly withTarget: boolean;
  /** Not read from a target at this moment, but from a capture. */
  readonly capture?: CaptureOrigin;
}

export async function openListing(
  options: { readonly output: string; readonly headers: boolean },
  io: Io,
  place: ListingPlace,
): Promise<ListingSink> {
  switch (options.output) {
    case 'name':
      // Names hold no tab: it would be escaped.
      return lineSink(place, ({ lock, target }) =>
        place.withTarget ? `${target}\t${lock.ref.name}` : lock.ref.name,
      );
    case 'jsonl':
      return lineSink(place, ({ lock, target }) => lockLine(lock, target, place.capture?.takenAt));
    case 'json':
      return documentSink(place);
    default: {
      const columns = listColumns({
        wide: options.output === 'wide',
        withTarget: place.withTarget,
        brief: io.outIsTerminal,
        paint: await paintFor(io),
      });
      return new TableSink(place, options.headers, (page) => {
        return new ColumnLayout(columns, page, io.columns);
      });
    }
  }
}

const nothing = (): Promise<void> => Promise.resolve();

function lineSink(place: ListingPlace, form: (lock: ListedLock) => string): ListingSink {
  return {
    lock: (lock) => {
      place.progress.clear();
      return place.writer.line(form(lock));
    },
    endOfTarget: () => undefined,
    flush: nothing,
    end: nothing,
  };
}

/** One JSON document, written while the locks arrive. Cut off, it is not valid: that is the point. */
function documentSink({ writer, progress, capture }: ListingPlace): ListingSink {
  const origin = capture === undefined ? '' : `"capture":${toJsonLine(capture)},`;
  let before = `{"schemaVersion":${schemaVersion},${origin}"locks":[\n  `;
  return {
    lock: ({ lock, target }) => {
      progress.clear();
      const separator = before;
      before = ',\n  ';
      return writer.text(separator + lockLine(lock, target, capture?.takenAt));
    },
    endOfTarget: () => undefined,
    flush: nothing,
    end: (summary) => {
      const opening = before === ',\n  ' ? '\n' : before.trimEnd();
      return writer.line(`${opening}],"summary":${toJsonLine(summaryJson(summary))}}`);
    },
  };
}

const pageRows = 200;
const pageWaitMs = 500;

/**
 * Holds back the first page of each target to learn the widths, those of quick targets as one;
 * afterwards each row goes out as it comes.
 */
class TableSink implements ListingSink {
  readonly #place: ListingPlace;
  readonly #headers: boolean;
  readonly #open: (page: readonly ListedLock[]) => ColumnLayout<ListedLock>;
  #page: ListedLock[] = [];
  #layout: ColumnLayout<ListedLock> | undefined;
  #holding = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    place: ListingPlace,
    headers: boolean,
    open: (page: readonly ListedLock[]) => ColumnLayout<ListedLock>,
  ) {
    this.#place = place;
    this.#headers = headers;
    this.#open = open;
  }

  async lock(lock: ListedLock): Promise<void> {
    if (!this.#holding && this.#layout !== undefined) {
      this.#place.progress.clear();
      await this.#place.writer.line(this.#layout.line(lock));
      return;
    }
    this.#page.push(lock);
    // A slow listing (--rate, few locks among many records) must not look like an empty one.
    this.#timer ??= setTimeout(() => {
      void this.flush();
    }, pageWaitMs);
    if (this.#page.length >= pageRows) await this.flush();
  }

  endOfTarget(): void {
    this.#holding = true;
  }

  end(): Promise<void> {
    return nothing();
  }

  /** One write, so that no later row can come between the rows held back. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    [this.#timer, this.#holding] = [undefined, false];
    const page = this.#page;
    if (page.length === 0) return;
    this.#page = [];
    const first = this.#layout === undefined;
    const layout = (this.#layout ??= this.#open(page));
    layout.widenFor(page);
    this.#place.progress.clear();
    const lines = page.map((lock) => layout.line(lock));
    if (this.#headers && first) lines.unshift(layout.heading());
    await this.#place.writer.text(lines.map((line) => `${line}\n`).join(''));
  }
}
