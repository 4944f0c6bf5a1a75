/**
 * What a proxy does to frames, and the count of it: armed swallows, cuts, delays. Transport apart,
 * so that every kind of proxy judges and proves in the same way.
 */
import type { Evidence } from '../domain/evidence.ts';
import type {
  ArmedSwallow,
  Direction,
  DirectionCounters,
  RequestAction,
  Swallowed,
  SwallowRule,
} from './proxy.ts';

/** One request and what became of its reply. */
export interface Exchange {
  /** Set once the request was really written to the server. */
  requestBytesForwarded: number;
  /** Set when the reply must not pass. */
  readonly swallow: Armed | undefined;
}

interface Armed {
  readonly rule: SwallowRule;
  left: number;
  readonly settle: (hit: Swallowed | undefined) => void;
}

type Counters = { -readonly [Name in keyof DirectionCounters]: DirectionCounters[Name] };

interface Cut {
  readonly way: Direction | 'both';
  readonly before: Readonly<Record<Direction, Counters>>;
  readonly sinceNs: bigint;
}

const ways = ['to-server', 'to-worker'] as const;

export class ProxyFaults {
  readonly #name: string;
  readonly #originNs: bigint;
  readonly #counters: Record<Direction, Counters> = {
    'to-server': noBytes(),
    'to-worker': noBytes(),
  };
  readonly #delayMs: Record<Direction, number> = { 'to-server': 0, 'to-worker': 0 };
  readonly #armed: Armed[] = [];
  readonly #past: Evidence[] = [];
  #cut: Cut | undefined;

  constructor(name: string, originNs: bigint) {
    this.#name = name;
    this.#originNs = originNs;
  }

  arm(rule: SwallowRule): ArmedSwallow {
    let settle: (hit: Swallowed | undefined) => void = () => undefined;
    const hit = new Promise<Swallowed | undefined>((resolve) => {
      settle = resolve;
    });
    const armed: Armed = { rule, left: rule.nth, settle };
    this.#armed.push(armed);
    return {
      hit,
      disarm: () => {
        this.#disarm(armed);
      },
    };
  }

  cut(way: Direction | 'both'): void {
    this.#endCut();
    const before = {
      'to-server': { ...this.#counters['to-server'] },
      'to-worker': { ...this.#counters['to-worker'] },
    };
    this.#cut = { way, before, sinceNs: process.hrtime.bigint() };
  }

  delay(way: Direction, delayMs: number): void {
    this.#delayMs[way] = delayMs;
    if (delayMs > 0) {
      this.#note(`every frame ${way} waits ${delayMs} ms`, 'a delay was on', true);
    }
  }

  delayMs(way: Direction): number {
    return this.#delayMs[way];
  }

  heal(): void {
    this.#endCut();
    for (const way of ways) this.#delayMs[way] = 0;
  }

  isCut(way: Direction): boolean {
    return this.#cut !== undefined && (this.#cut.way === 'both' || this.#cut.way === way);
  }

  counters(way: Direction): DirectionCounters {
    return { ...this.#counters[way] };
  }

  received(way: Direction, bytes: number, frames: number): void {
    this.#counters[way].bytesIn += bytes;
    this.#counters[way].framesIn += frames;
  }

  forwarded(way: Direction, bytes: number): void {
    this.#counters[way].bytesForwarded += bytes;
  }

  dropped(way: Direction, bytes: number): void {
    this.#counters[way].bytesDropped += bytes;
    this.#counters[way].framesDropped += 1;
  }

  /**
   * Judges one request frame.
   * @returns its exchange, or undefined when the request itself must be dropped
   */
  request(action: RequestAction | undefined): Exchange | undefined {
    const hit = this.#match(action);
    if (hit?.rule.what !== 'request') return { requestBytesForwarded: 0, swallow: hit };
    this.#swallowed(hit, {
      rule: hit.rule,
      requestBytesForwarded: 0,
      replyBytesReceived: 0,
      replyBytesForwarded: 0,
      atNs: process.hrtime.bigint(),
    });
    return undefined;
  }

  /** Judges one reply frame. @returns whether it may pass */
  reply(bytes: number, exchange: Exchange | undefined): boolean {
    if (exchange?.swallow === undefined) return true;
    this.#swallowed(exchange.swallow, {
      rule: exchange.swallow.rule,
      requestBytesForwarded: exchange.requestBytesForwarded,
      replyBytesReceived: bytes,
      replyBytesForwarded: 0,
      atNs: process.hrtime.bigint(),
    });
    return false;
  }

  /** Past faults and, while one is on, the cut as it stands. */
  evidence(): readonly Evidence[] {
    return this.#cut === undefined
      ? [...this.#past]
      : [...this.#past, this.#cutEvidence(this.#cut)];
  }

  /** Settles what is still armed. */
  close(): void {
    this.#endCut();
    for (const armed of [...this.#armed]) this.#disarm(armed);
  }

  /** The first armed rule that this request is the nth match of; it leaves the list. */
  #match(action: RequestAction | undefined): Armed | undefined {
    for (const armed of this.#armed) {
      const wanted = armed.rule.action;
      if (action === undefined || (wanted !== undefined && wanted !== action)) continue;
      armed.left -= 1;
      if (armed.left > 0) continue;
      this.#armed.splice(this.#armed.indexOf(armed), 1);
      return armed;
    }
    return undefined;
  }

  #disarm(armed: Armed): void {
    const at = this.#armed.indexOf(armed);
    if (at !== -1) this.#armed.splice(at, 1);
    armed.settle(undefined);
  }

  #swallowed(armed: Armed, hit: Swallowed): void {
    const { rule, requestBytesForwarded: request, replyBytesReceived: reply } = hit;
    const what = rule.action ?? 'any';
    if (rule.what === 'request') {
      this.#note(`one ${what} request dropped`, 'the server never got it', true);
    } else {
      const fact = `one ${what} exchange: ${request} request bytes forwarded, ${reply} reply bytes received, 0 forwarded`;
      this.#note(fact, 'the request arrived and its reply was lost', request > 0 && reply > 0);
    }
    armed.settle(hit);
  }

  #endCut(): void {
    if (this.#cut === undefined) return;
    this.#past.push(this.#cutEvidence(this.#cut));
    this.#cut = undefined;
  }

  /**
   * A cut that nothing ran into proves nothing. The open way must have lost nothing; when replies
   * are cut, requests must have passed (the reverse cannot be asked: no request, no reply).
   */
  #cutEvidence(cut: Cut): Evidence {
    const since = (way: Direction): { forwarded: number; dropped: number } => ({
      forwarded: this.#counters[way].bytesForwarded - cut.before[way].bytesForwarded,
      dropped: this.#counters[way].bytesDropped - cut.before[way].bytesDropped,
    });
    const cutWays = cut.way === 'both' ? ways : [cut.way];
    const openWays = ways.filter((way) => !cutWays.some((other) => other === way));
    const stopped = cutWays.every((way) => since(way).forwarded === 0);
    const tried = cutWays.some((way) => since(way).dropped > 0);
    const passed = openWays.every(
      (way) => since(way).dropped === 0 && (way === 'to-worker' || since(way).forwarded > 0),
    );
    const fact = ways
      .map(
        (way) => `${way}: ${since(way).forwarded} bytes forwarded, ${since(way).dropped} dropped`,
      )
      .join('; ');
    return {
      source: `proxy ${this.#name}`,
      atNs: cut.sinceNs - this.#originNs,
      fact,
      proves:
        cut.way === 'both' ? 'nothing passed' : `nothing passed ${cut.way}, the other way was open`,
      holds: stopped && tried && passed,
    };
  }

  #note(fact: string, proves: string, holds: boolean): void {
    const atNs = process.hrtime.bigint() - this.#originNs;
    this.#past.push({ source: `proxy ${this.#name}`, atNs, fact, proves, holds });
  }
}

function noBytes(): Counters {
  return { bytesIn: 0, bytesForwarded: 0, bytesDropped: 0, framesIn: 0, framesDropped: 0 };
}
