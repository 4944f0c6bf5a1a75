/**
 * Writes the history that the judge is measured on: workers take turns on a hundred fenced locks, with
 * refused attempts, renewals and accepted writes. As JSON Lines, piece by piece.
 */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { writeLine } from '../../src/checks/write-history.ts';
import type { Action, CompleteEvent, HistoryEvent, InvokeEvent } from '../../src/domain/event.ts';

const locks = 100;
/** Nanoseconds between two events. */
const stepNs = 1000n;

type Step = readonly [Action, 'holder' | 'contender', Partial<InvokeEvent>, Partial<CompleteEvent>];

/** Everything that happens under one grant; five operations. */
function turnOf(fence: bigint, subject: string): readonly Step[] {
  return [
    ['acquire', 'holder', { leaseMs: 30_000 }, { fence, grantedTtlMs: 30_000 }],
    ['acquire', 'contender', {}, { outcome: 'fail', code: 'busy' }],
    ['renew', 'holder', { leaseMs: 30_000 }, { grantedTtlMs: 30_000 }],
    [
      'write',
      'holder',
      { fence, resource: 'orders', business: 'close-order', subject },
      { accepted: true, version: fence },
    ],
    ['release', 'holder', {}, {}],
  ];
}

/** Writes `operations` operations (to the next whole turn) to `file`. */
export async function writeBenchHistory(file: string, operations: number): Promise<void> {
  const stream = createWriteStream(file);
  stream.write(
    writeLine({ schemaVersion: 1, kind: 'header', clock: 'bench', accept: 'greater-or-equal' }),
  );
  let seq = 0;
  for (let turn = 0; seq < 2 * operations; turn += 1) {
    const lines = eventsOf(turn, seq).map(writeLine);
    seq += lines.length;
    if (!stream.write(lines.join(''))) {
      await once(stream, 'drain');
    }
  }
  stream.end();
  await finished(stream);
}

function eventsOf(turn: number, firstSeq: number): readonly HistoryEvent[] {
  const lock = `expire-order/o-${turn % locks}`;
  const fence = BigInt(Math.floor(turn / locks) + 1);
  const workers = { holder: `w${turn % 7}`, contender: `w${(turn + 1) % 7}` };
  return turnOf(fence, `order-${turn}`).flatMap(([action, who, asked, got], at) => {
    const worker = workers[who];
    const seq = firstSeq + 2 * at;
    const op = `${seq}`;
    const base = { process: worker, source: 'worker' } as const;
    return [
      {
        ...base,
        ...{ seq, atNs: BigInt(seq) * stepNs, kind: 'invoke', op, action, worker, attempt: 1 },
        ...{ lock, owner: `${worker}-${turn}-${who}`, ...asked },
      },
      {
        ...base,
        ...{ seq: seq + 1, atNs: BigInt(seq + 1) * stepNs, kind: 'complete', op },
        ...{ outcome: 'ok', ...got },
      },
    ];
  });
}
