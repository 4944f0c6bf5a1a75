/**
 * What a benchmark is: subjects and the peer they are measured against, run by turns on the same
 * machine, so that what else the machine does touches all alike. Only ratios mean anything.
 */

export interface Sizes {
  /** Strings on Redis; two hashes come with every hundred. */
  readonly redisKeys: number;
  readonly etcdKeys: number;
  /** Lock parents on ZooKeeper, three contenders each. */
  readonly zookeeperLocks: number;
  /** Operations of the judged history: an invocation and a completion each. */
  readonly operations: number;
  /** Requests through a proxy, one after another. */
  readonly requests: number;
}

export interface BenchOptions {
  readonly sizes: Sizes;
  /** How often everything is measured. */
  readonly runs: number;
  /** Says what is going on. */
  readonly tell: (text: string) => void;
}

/** One measurement: of one run of a program, or one quantile of many requests. */
export interface Sample {
  readonly ms: number;
  /** Processor time of the program alone; steadier than `ms` on a busy machine. */
  readonly cpuMs?: number | undefined;
  /** Peak resident memory in MiB; undefined where it was not looked at. */
  readonly peakMib?: number | undefined;
}

export interface Contestant {
  readonly name: string;
  /** What design documents ask for, to be printed beside the result. */
  readonly goal?: Goal;
  measure(): Promise<Sample>;
}

export interface Goal {
  readonly ratio?: number;
  readonly peakMib?: number;
  readonly ms?: number;
}

/** Medians over the runs. */
export interface Row {
  readonly bench: string;
  readonly subject: string;
  readonly peer: string;
  readonly ms: number;
  readonly peerMs: number;
  /** Median of the ratios, one of each run. */
  readonly ratio: number;
  readonly lowestRatio: number;
  readonly highestRatio: number;
  /** Median processor time, where it was looked at. */
  readonly cpuMs: number | undefined;
  /** Median of the ratios of processor time to the peer's. */
  readonly cpuRatio: number | undefined;
  /** The highest of all runs. */
  readonly peakMib: number | undefined;
  readonly goal: Goal;
}

export interface Bench {
  readonly name: string;
  /** One sentence for `--list`. */
  readonly about: string;
  run(options: BenchOptions): Promise<readonly Row[]>;
}

/** Measures peer and subjects by turns, `runs` times. */
export async function compare(
  bench: string,
  peer: Contestant,
  subjects: readonly Contestant[],
  { runs, tell }: Pick<BenchOptions, 'runs' | 'tell'>,
): Promise<readonly Row[]> {
  const peerSamples: Sample[] = [];
  const samples = subjects.map((): Sample[] => []);
  for (let run = 1; run <= runs; run += 1) {
    tell(`${bench}: run ${run} of ${runs}`);
    peerSamples.push(await peer.measure());
    for (const [index, subject] of subjects.entries()) {
      samples[index]?.push(await subject.measure());
    }
  }
  return subjects.map((subject, index) => toRow(bench, peer, peerSamples, subject, samples[index]));
}

function toRow(
  bench: string,
  peer: Contestant,
  peerSamples: readonly Sample[],
  subject: Contestant,
  samples: readonly Sample[] = [],
): Row {
  const ratios = samples.map(({ ms }, run) => ms / (peerSamples[run]?.ms ?? NaN));
  const cpu = samples.flatMap(({ cpuMs }) => cpuMs ?? []);
  const cpuRatios = cpu.map((ms, run) => ms / (peerSamples[run]?.cpuMs ?? NaN));
  const peaks = samples.flatMap(({ peakMib }) => peakMib ?? []);
  return {
    bench,
    subject: subject.name,
    peer: peer.name,
    ms: median(samples.map(({ ms }) => ms)),
    peerMs: median(peerSamples.map(({ ms }) => ms)),
    ratio: median(ratios),
    lowestRatio: Math.min(...ratios),
    highestRatio: Math.max(...ratios),
    cpuMs: cpu.length === 0 ? undefined : median(cpu),
    cpuRatio: cpu.length === 0 ? undefined : median(cpuRatios),
    peakMib: peaks.length === 0 ? undefined : Math.max(...peaks),
    goal: subject.goal ?? {},
  };
}

/** The middle value; of an even number of values the lower one of the two in the middle. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The smallest value that at least `share` of the values do not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}
