import { etcdLease } from '../../../src/protocols/etcd-lease.ts';
import { useLab } from '../../helpers/servers.ts';
import { describeWorkerFaults } from './worker-faults.ts';

describeWorkerFaults(useLab({ system: 'etcd' }), etcdLease);
