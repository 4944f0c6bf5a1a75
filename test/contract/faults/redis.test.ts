import { removingRecord } from '../../../src/chaos/faults/remove-record.ts';
import { redisFenced } from '../../../src/protocols/redis-fenced.ts';
import { redisSetNx } from '../../../src/protocols/redis-set-nx.ts';
import { useLab } from '../../helpers/servers.ts';
import { describeIntervention } from './interventions.ts';
import { describeWorkerFaults } from './worker-faults.ts';

const lab = useLab({ system: 'redis' });

describeWorkerFaults(lab, redisFenced, true);
describeIntervention(lab, redisFenced, removingRecord);
describeIntervention(lab, redisSetNx, removingRecord);
