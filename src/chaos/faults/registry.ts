/** Every fault that scenarios can name. */
import { crash } from './crash.ts';
import { cut } from './cut.ts';
import { delay } from './delay.ts';
import { expireSession } from './expire-session.ts';
import type { Fault } from './fault.ts';
import { holdReplication } from './hold-replication.ts';
import { losePrimary } from './lose-primary.ts';
import { loseReply } from './lose-reply.ts';
import { loseRequest } from './lose-request.ts';
import { pause } from './pause.ts';
import { removeRecord } from './remove-record.ts';
import { revokeLease } from './revoke-lease.ts';
import { starve } from './starve.ts';

const faults: readonly Fault[] = [
  pause,
  crash,
  starve,
  cut,
  delay,
  loseRequest,
  loseReply,
  removeRecord,
  revokeLease,
  expireSession,
  holdReplication,
  losePrimary,
];

export const faultNames: readonly string[] = faults.map(({ name }) => name);

export function findFault(name: string): Fault | undefined {
  return faults.find((fault) => fault.name === name);
}
