import { redisFenced } from '../../../src/protocols/redis-fenced.ts';
import { useLab } from '../../helpers/servers.ts';
import { describeWorkerFaults } from './worker-faults.ts';

describeWorkerFaults(useLab({ system: 'redis' }), redisFenced);
