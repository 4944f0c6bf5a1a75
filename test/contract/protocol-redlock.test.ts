/** Redlock on five servers: the contract, and what it does when some of the servers are gone. */
import { useLab } from '../helpers/servers.ts';
import { describeProtocol } from './protocol.contract.ts';

const lab = useLab({ system: 'redlock' });
const shared = {
  lab,
  leaseMs: 400,
  repeatedAcquire: 'same-grant',
  silenceIsSeenAs: 'expired',
  afterNoAnswer: 'clean-up',
  endsWithinMs: 450,
} as const;

describeProtocol({ ...shared, id: 'redlock-fenced', releaseIsSeenAs: 'released' });

// A plain DEL leaves no trace.
describeProtocol({ ...shared, id: 'redlock-plain', releaseIsSeenAs: 'removed-early' });
