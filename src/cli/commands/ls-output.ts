/** The forms of a listing: names, JSON, JSON lines, and tables that start before the end is known. */
import { toJsonLine, schemaVersion } from '../../reports/json.ts';
import { lockLine, summaryJson } from '../../reports/locks-json.ts';
import { listColumns, type ListedLock, type ListSummary } from '../../reports/locks-list.ts';
import { ColumnLayout } from '../../reports/table.ts';
import type { Io } from '../io.ts';
import { paintFor, type LineWriter, type Progress } from '../output.ts';

/** Takes the locks as they come. */
export interface ListingSink {
  lock(lock: ListedLock): Promise<void>;
  /** No more from this target, or it failed: what is held back is shown. */
  endOfTarget(): Promise<void>;
  end(summary: ListSummary): Promise<void>;
}

export interface ListingPlace {
  readonly writer: LineWriter;
  readonly progress: Progress;
  readonly withTarget: boolean;
}

export async function openListing(
  options: { readonly output: string; readonly headers: boolean },
  io: Io,
  place: ListingPlace,
): Promise<ListingSink> {
  switch (options.output) {
    case 'name':
      return lineSink(place, ({ lock }) => lock.ref.name);
    case 'jsonl':
      return lineSink(place, ({ lock, target }) => lockLine(lock, target));
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
    endOfTarget: nothing,
    end: nothing,
  };
}

/** One JSON document, written while the locks arrive. Cut off, it is not valid: that is the point. */
function documentSink({ writer, progress }: ListingPlace): ListingSink {
  let before = `{"schemaVersion":${schemaVersion},"locks":[\n  `;
  return {
    lock: ({ lock, target }) => {
      progress.clear();
      const separator = before;
      before = ',\n  ';
      return writer.text(separator + lockLine(lock, target));
    },
    endOfTarget: nothing,
    end: (summary) => {
      const opening = before === ',\n  ' ? '\n' : before.trimEnd();
      return writer.line(`${opening}],"summary":${toJsonLine(summaryJson(summary))}}`);
    },
  };
}

const pageRows = 200;
const pageWaitMs = 500;

/** Holds back a first page to learn the widths; afterwards each row goes out as it comes. */
class TableSink implements ListingSink {
  readonly #place: ListingPlace;
  readonly #headers: boolean;
  readonly #open: (page: readonly ListedLock[]) => ColumnLayout<ListedLock>;
  #page: ListedLock[] = [];
  #layout: ColumnLayout<ListedLock> | undefined;
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
    if (this.#layout !== undefined) {
      this.#place.progress.clear();
      await this.#place.writer.line(this.#layout.line(lock));
      return;
    }
    this.#page.push(lock);
    // A slow listing (--rate, few locks among many records) must not look like an empty one.
    this.#timer ??= setTimeout(() => {
      void this.#showPage();
    }, pageWaitMs);
    if (this.#page.length >= pageRows) await this.#showPage();
  }

  async endOfTarget(): Promise<void> {
    if (this.#page.length > 0) await this.#showPage();
  }

  end(): Promise<void> {
    return nothing();
  }

  /** One write, so that no later row can come between the rows held back. */
  async #showPage(): Promise<void> {
    clearTimeout(this.#timer);
    const [page, layout] = [this.#page, this.#open(this.#page)];
    this.#page = [];
    this.#layout = layout;
    this.#place.progress.clear();
    const lines = page.map((lock) => layout.line(lock));
    if (this.#headers) lines.unshift(layout.heading());
    await this.#place.writer.text(lines.map((line) => `${line}\n`).join(''));
  }
}
