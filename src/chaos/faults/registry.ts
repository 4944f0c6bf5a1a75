/** Every fault that scenarios can name. */
import { crash } from './crash.ts';
import { cut } from './cut.ts';
import { expireSession } from './expire-session.ts';
import type { Fault } from './fault.ts';
import { holdReplication } from './hold-replication.ts';
import { losePrimary } from './lose-primary.ts';
import { pause } from './pause.ts';
import { removeRecord } from './remove-record.ts';
import { revokeLease } from './revoke-lease.ts';
import { starve } from './starve.ts';

const faults: readonly Fault[] = [
  pause,
  crash,
  starve,
  cut,
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
