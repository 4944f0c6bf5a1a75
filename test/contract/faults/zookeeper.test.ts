import { zooKeeperSequential } from '../../../src/protocols/zookeeper-sequential.ts';
import { useLab } from '../../helpers/servers.ts';
import { describeWorkerFaults } from './worker-faults.ts';

describeWorkerFaults(useLab({ system: 'zookeeper' }), zooKeeperSequential);
