import { useLab } from '../helpers/servers.ts';
import { describeProtocol } from './protocol.contract.ts';

const lab = useLab({ system: 'etcd' });
// A deletion looks like any other: etcd keeps no reason, so the witness knows only that the lease lived on.
const shared = {
  lab,
  leaseMs: 2000,
  releaseIsSeenAs: 'removed-early',
  silenceIsSeenAs: 'expired',
  endsWithinMs: 4500,
} as const;

describeProtocol({ ...shared, id: 'etcd-lease', repeatedAcquire: 'same-grant' });
describeProtocol({ ...shared, id: 'etcd-single-key', repeatedAcquire: 'busy' });
