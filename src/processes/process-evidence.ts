/**
 * Facts about processes from the operating system, never from the process itself: /proc on Linux,
 * `ps` elsewhere. One interface, so that nothing else knows the platform.
 */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** A process that cannot be confused with a later one of the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time in the platform's own words; compare for equality only. */
  readonly startTime: string;
}

export interface ProcessFacts extends ProcessIdentity {
  readonly pgid: number;
  /** `T` is stopped by a signal, `Z` a zombie, as ps and /proc print them. */
  readonly state: string;
  /** User plus system time, in ms: /proc counts ticks of 10 ms. */
  readonly cpuMs: number;
}

export interface ProcessReader {
  /** `/proc` or `ps`: the source named in evidence. */
  readonly source: string;
  /** Undefined when there is no such process (a zombie still is one). */
  read(pid: number): Promise<ProcessFacts | undefined>;
  /** Every process of the group, by pid. Empty when the group is gone. */
  readGroup(pgid: number): Promise<readonly ProcessFacts[]>;
}

/** The reader of this platform. */
export function openProcessReader(platform: NodeJS.Platform = process.platform): ProcessReader {
  return platform === 'linux' ? procReader : psReader;
}

const procReader: ProcessReader = {
  source: '/proc',
  async read(pid) {
    try {
      return parseProcStat(await readFile(`/proc/${pid}/stat`, 'latin1'));
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  },
  async readGroup(pgid) {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
    const all = await Promise.all(pids.map((pid) => procReader.read(pid)));
    return all.filter((facts) => facts?.pgid === pgid).filter((facts) => facts !== undefined);
  },
};

/** ENOENT before the open, ESRCH when the process ends between open and read. */
function isGone(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' || code === 'ESRCH';
}

/** USER_HZ: Linux exports 100 to user space on every architecture Node runs on. */
const tickMs = 10;

/** @see proc(5): the command name is in parentheses and may itself hold any character. */
export function parseProcStat(line: string): ProcessFacts | undefined {
  const close = line.lastIndexOf(')');
  const pid = Number.parseInt(line, 10);
  const fields = line.slice(close + 2).split(' ');
  const [state, , pgid] = fields;
  const [user, system, startTime] = [fields[11], fields[12], fields[19]];
  if (close === -1 || state === undefined || startTime === undefined) return undefined;
  return {
    pid,
    startTime,
    pgid: Number(pgid),
    state,
    cpuMs: (Number(user) + Number(system)) * tickMs,
  };
}

const run = promisify(execFile);
const psColumns = 'pid=,pgid=,stat=,time=,lstart=';

const psReader: ProcessReader = {
  source: 'ps',
  async read(pid) {
    return (await ps(['-p', String(pid)]))[0];
  },
  async readGroup(pgid) {
    return (await ps(['-A'])).filter((facts) => facts.pgid === pgid);
  },
};

async function ps(selection: readonly string[]): Promise<readonly ProcessFacts[]> {
  try {
    const { stdout } = await run('ps', [...selection, '-o', psColumns], {
      env: { ...process.env, LC_ALL: 'C' },
    });
    return parsePs(stdout);
  } catch (error) {
    // ps exits 1 when nothing was selected; anything else is a real failure.
    if (error instanceof Error && 'code' in error && error.code === 1) return [];
    throw error;
  }
}

const psLine = /^\s*(\d+)\s+(\d+)\s+(\S)\S*\s+([\d:.-]+)\s+(\S.*\S)\s*$/;

/** Parses `ps -o pid=,pgid=,stat=,time=,lstart=`. */
export function parsePs(output: string): readonly ProcessFacts[] {
  return output.split('\n').flatMap((line) => {
    const [, pid, pgid, state, time, startTime] = psLine.exec(line) ?? [];
    if (state === undefined || time === undefined || startTime === undefined) return [];
    return [{ pid: Number(pid), pgid: Number(pgid), state, cpuMs: parseCpuTime(time), startTime }];
  });
}

/** `[[dd-]hh:]mm:ss[.cc]` as ps prints it. */
function parseCpuTime(text: string): number {
  const [clock = '', days = '0'] = text.split('-').reverse();
  const seconds = clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  return Math.round((Number(days) * 86_400 + seconds) * 1000);
}

/**
 * Sends a signal to a process group, if its leader is still the process we mean.
 * @returns false when the leader is gone or its number belongs to another process
 */
export async function signalGroup(
  group: ProcessIdentity,
  signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL',
  reader: ProcessReader = openProcessReader(),
): Promise<boolean> {
  const facts = await reader.read(group.pid);
  if (facts?.startTime !== group.startTime || facts.pgid !== group.pid) return false;
  try {
    process.kill(-group.pid, signal);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}
