import { expiringSession } from '../../../src/chaos/faults/expire-session.ts';
import { removingRecord } from '../../../src/chaos/faults/remove-record.ts';
import { zooKeeperPlainEphemeral } from '../../../src/protocols/zookeeper-plain-ephemeral.ts';
import { zooKeeperSequential } from '../../../src/protocols/zookeeper-sequential.ts';
import { useLab } from '../../helpers/servers.ts';
import { describeIntervention } from './interventions.ts';
import { describeWorkerFaults } from './worker-faults.ts';

const lab = useLab({ system: 'zookeeper' });

describeWorkerFaults(lab, zooKeeperSequential, false);
for (const protocol of [zooKeeperSequential, zooKeeperPlainEphemeral]) {
  describeIntervention(lab, protocol, removingRecord, expiringSession);
  describeIntervention(lab, protocol, expiringSession, removingRecord);
}
