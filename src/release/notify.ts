/**
 * `--notify COMMAND`: tells a resource of the fence floor before the lock is let go. The command is
 * the operator's own; it gets one JSON document on stdin, and exit code 0 is its only yes.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { formatDuration } from '../domain/duration.ts';
import { Interrupted } from '../domain/errors.ts';
import type { FencingToken } from '../domain/fence.ts';
import { valueOf } from '../domain/known.ts';
import type { LockDetail } from '../domain/lock.ts';
import type { ReleasePreview } from '../domain/release.ts';
import { bytesToText, type Text } from '../domain/text.ts';

/** What the command is told. Tokens are decimal strings in the JSON. */
export interface FloorNotice {
  readonly lock: Text;
  readonly target: string;
  readonly clusterId: string | undefined;
  /** Grant that is about to be released, as `show` prints it. */
  readonly expect: string | undefined;
  readonly owners: readonly Text[];
  /** Token of that grant. */
  readonly oldToken: FencingToken;
  /** The smallest token that the resource may accept from now on. */
  readonly floor: FencingToken;
  readonly reason: string | undefined;
}

/** Whether the resource heard of it. */
export type Notified =
  | { readonly told: true; readonly floor: FencingToken }
  | { readonly told: false; readonly floor: FencingToken; readonly reason: string };

/** Smallest token to accept after the release of this grant; undefined: it has no fence, or an unknown one. */
export function floorAfter({ fence }: LockDetail, preview: ReleasePreview): bigint | undefined {
  if (fence.kind !== 'token') return undefined;
  const floors = [fence.token + 1n];
  if (preview.raisesFence !== undefined) floors.push(preview.raisesFence.to);
  if (preview.fenceFloor?.can === true) floors.push(preview.fenceFloor.atLeast);
  return floors.reduce((highest, one) => (one > highest ? one : highest));
}

/** The notice of a plan, or undefined where there is no floor to tell. */
export function floorNotice(
  detail: LockDetail,
  preview: ReleasePreview,
  about: Pick<FloorNotice, 'target' | 'clusterId' | 'reason'>,
): FloorNotice | undefined {
  const floor = floorAfter(detail, preview);
  if (floor === undefined || detail.fence.kind !== 'token') return undefined;
  return {
    lock: detail.ref.name,
    ...about,
    expect: detail.identity?.expect,
    owners: (valueOf(detail.holders) ?? []).map(({ owner }) => owner),
    oldToken: detail.fence.token,
    floor,
  };
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

const mostOutput = 4_096;

/**
 * Runs the command by `sh -c` and waits for it. What it prints is kept for the reason of a failure
 * only: stdout is ours.
 * @throws {Interrupted} on Ctrl-C; the command and its children are ended
 */
export async function notify(
  command: string,
  notice: FloorNotice,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Notified> {
  const child: Child = spawn('sh', ['-c', command], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own, to be ended as a whole.
    detached: true,
  });
  const printed = lastWords(child);
  const ending = endOf(child);
  const deadline = AbortSignal.timeout(timeoutMs);
  const stop = AbortSignal.any([signal, deadline]);
  const kill = (): void => {
    killGroup(child);
  };
  stop.addEventListener('abort', kill, { once: true });
  // A command that does not read its input closes the pipe; its exit code says what that means.
  child.stdin.on('error', () => undefined);
  child.stdin.end(`${documentOf(notice)}\n`);
  const how = await ending;
  stop.removeEventListener('abort', kill);
  if (signal.aborted) {
    throw new Interrupted('interrupted while the resource was told: nothing was deleted', {
      code: 'interrupted',
      definite: true,
    });
  }
  const { floor } = notice;
  if (how === undefined) return { told: true, floor };
  const why = deadline.aborted ? `no answer within ${formatDuration(timeoutMs)}` : how;
  const said = printed();
  return { told: false, floor, reason: said === '' ? why : `${why}: ${said}` };
}

function documentOf(notice: FloorNotice): string {
  return JSON.stringify(
    { schemaVersion: 1, kind: 'fence-floor', ...notice },
    (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value),
  );
}

/** How it failed; undefined: it exited with 0. */
function endOf(child: Child): Promise<string | undefined> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      resolve(`it cannot be started: ${error.message}`);
    });
    child.once('close', (code, ended) => {
      if (code === 0) resolve(undefined);
      else resolve(code === null ? `it was ended by ${ended ?? '?'}` : `exit code ${code}`);
    });
  });
}

/** The last line that it printed on either stream, escaped. */
function lastWords({ stdout, stderr }: Child): () => Text {
  let kept = Buffer.alloc(0);
  for (const stream of [stdout, stderr]) {
    stream.on('data', (chunk: Buffer) => {
      kept = Buffer.concat([kept, chunk]).subarray(-mostOutput);
    });
  }
  return () => {
    const lines = kept.toString('latin1').split('\n');
    const last = lines.findLast((line) => line.trim() !== '') ?? '';
    return bytesToText(Buffer.from(last.trim().slice(0, 200), 'latin1'));
  };
}

function killGroup({ pid }: Child): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has just ended by itself: that is what was wanted.
  }
}
