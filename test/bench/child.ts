/**
 * Runs a program to its end and measures it from outside: wall and processor time, peak memory, lines
 * printed.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Sample } from './bench.ts';

export interface ProgramRun {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A run that prints fewer lines did not do its work. */
  readonly leastLines?: number;
}

/** How often we look, in ms: what happens in the very last moment is missed. */
const lookEveryMs = 25;

/** The built command line with these arguments. */
export function fencepost(args: readonly string[], leastLines?: number): ProgramRun {
  const file = fileURLToPath(new URL('../../../bin/fencepost.js', import.meta.url));
  return node([file, ...args], leastLines);
}

/** One of the bare programs in floors/. */
export function floor(name: string, args: readonly string[], leastLines?: number): ProgramRun {
  const file = fileURLToPath(new URL(`./floors/${name}.js`, import.meta.url));
  return node([file, ...args], leastLines);
}

export function node(args: readonly string[], leastLines?: number): ProgramRun {
  return {
    file: process.execPath,
    args,
    ...(leastLines === undefined ? {} : { leastLines }),
  };
}

/** @throws {Error} when the program fails, or prints too little */
export async function measure(run: ProgramRun): Promise<Sample> {
  const startedMs = performance.now();
  const child = spawn(run.file, run.args, {
    env: { ...process.env, ...run.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let lines = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1;
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2000);
  });
  let seen: Pick<Sample, 'cpuMs' | 'peakMib'> = {};
  const timer = setInterval(() => {
    if (child.pid !== undefined) seen = lookAt(child.pid) ?? seen;
  }, lookEveryMs);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).finally(() => {
    clearInterval(timer);
  });
  const ms = performance.now() - startedMs;
  if (code !== 0 || lines < (run.leastLines ?? 0)) {
    throw new Error(
      `${run.file} ${run.args.join(' ')} ended with ${String(code)} after ${lines} lines: ${complaint}`,
    );
  }
  return { ms, ...seen };
}

/** What a process has used so far; undefined without /proc, and of a process that ended. */
function lookAt(pid: number): Pick<Sample, 'cpuMs' | 'peakMib'> | undefined {
  let status: string, stat: string;
  try {
    status = readFileSync(`/proc/${pid}/status`, 'utf8');
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    // No /proc here, or the process is gone: what was seen last stays.
    return undefined;
  }
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  if (kib === undefined) return undefined;
  // Fields 14 and 15 (utime, stime), counted from behind the command's closing parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  return { cpuMs: (ticks * 1000) / ticksPerSecond, peakMib: Number(kib) / 1024 };
}

/** Of the kernel's accounting; the same on every Linux that Node runs on. */
const ticksPerSecond = 100;
