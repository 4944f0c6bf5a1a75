import { useLab } from '../helpers/servers.ts';
import { describeProtocol } from './protocol.contract.ts';

const lab = useLab({ system: 'redis' });
const shared = { lab, leaseMs: 400, silenceIsSeenAs: 'expired', endsWithinMs: 450 } as const;

describeProtocol({
  ...shared,
  id: 'redis-fenced',
  repeatedAcquire: 'same-grant',
  releaseIsSeenAs: 'released',
});

// SET NX cannot tell a repetition from a stranger, and a plain DEL leaves no trace.
describeProtocol({
  ...shared,
  id: 'redis-set-nx',
  repeatedAcquire: 'busy',
  releaseIsSeenAs: 'removed-early',
});
