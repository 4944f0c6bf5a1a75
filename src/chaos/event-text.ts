/** One event of a history as a line for people: witnesses and timelines are made of them. */
import type { HistoryEvent } from '../domain/event.ts';

/** `2.08 s  B write o-42 ok, fence 2`. */
export function eventText(
  event: HistoryEvent,
  atMs: number,
  opName: (op: string) => string,
): string {
  return `${(atMs / 1000).toFixed(2)} s  ${what(event, opName)}`;
}

function what(event: HistoryEvent, opName: (op: string) => string): string {
  switch (event.kind) {
    case 'invoke':
      return `${event.worker} invokes ${opName(event.op)}${fenceText(event.fence)}`;
    case 'complete':
      return `${event.process} ${opName(event.op)}: ${event.outcome}${codeText(event.code)}${fenceText(event.fence)}`;
    case 'notice':
      return `${event.worker} was told that it lost the lock: ${event.reason ?? ''}`;
    case 'fault':
      return `${event.fault} of ${event.target ?? 'the run'}: ${event.phase}`;
    case 'observation':
      return `${event.witness}: ${event.fact}${ownerText(event.owner, event.absent)}${fenceText(event.fence)}${codeText(event.cause)}`;
  }
}

function fenceText(fence: bigint | undefined): string {
  return fence === undefined ? '' : `, fence ${fence}`;
}

function codeText(code: string | undefined): string {
  return code === undefined ? '' : ` (${code})`;
}

function ownerText(owner: string | undefined, absent: boolean | undefined): string {
  if (absent === true) return ' absent';
  return owner === undefined ? '' : ` of ${owner}`;
}
