import { removingRecord } from '../../../src/chaos/faults/remove-record.ts';
import { revokingLease } from '../../../src/chaos/faults/revoke-lease.ts';
import { etcdLease } from '../../../src/protocols/etcd-lease.ts';
import { etcdSingleKey } from '../../../src/protocols/etcd-single-key.ts';
import { useLab } from '../../helpers/servers.ts';
import { describeIntervention } from './interventions.ts';
import { describeWorkerFaults } from './worker-faults.ts';

const lab = useLab({ system: 'etcd' });

describeWorkerFaults(lab, etcdLease, false);
for (const protocol of [etcdLease, etcdSingleKey]) {
  describeIntervention(lab, protocol, removingRecord, revokingLease);
  describeIntervention(lab, protocol, revokingLease, removingRecord);
}
