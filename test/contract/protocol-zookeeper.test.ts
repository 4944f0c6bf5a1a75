import { useLab } from '../helpers/servers.ts';
import { describeProtocol } from './protocol.contract.ts';

// The server grants 20 ticks at most, which is less than some tests want to hold a lock for.
const lab = useLab({ system: 'zookeeper', options: { maxSessionTimeout: '60000' } });
const shared = {
  lab,
  leaseMs: 1000,
  releaseIsSeenAs: 'released',
  silenceIsSeenAs: 'expired',
  // A session ends at the tick after its timeout; a tick of the lab is 500 ms.
  endsWithinMs: 2500,
} as const;

describeProtocol({ ...shared, id: 'zookeeper-sequential', repeatedAcquire: 'same-grant' });
describeProtocol({ ...shared, id: 'zookeeper-plain-ephemeral', repeatedAcquire: 'busy' });
