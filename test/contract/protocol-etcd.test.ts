import { useLab } from '../helpers/servers.ts';
import { describeProtocol } from './protocol.contract.ts';

const lab = useLab({ system: 'etcd' });
const shared = {
  lab,
  leaseMs: 2000,
  releaseIsSeenAs: 'released',
  silenceIsSeenAs: 'expired',
  endsWithinMs: 4500,
} as const;

describeProtocol({ ...shared, id: 'etcd-lease', repeatedAcquire: 'same-grant' });
describeProtocol({ ...shared, id: 'etcd-single-key', repeatedAcquire: 'busy' });
