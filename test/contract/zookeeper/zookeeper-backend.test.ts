/**
 * The ZooKeeper adapter against the contract of all backends, once for each procedure of release:
 * queues whose names hold a GUID, and queues of plain numbers. Everybody may read, one user writes.
 */
import { parseText } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { describeBackend } from '../backend.contract.ts';
import { aclOf, openTarget, queueSeeder } from './zookeeper-seeder.ts';

// The longest session of a server is 20 of its ticks unless it is told otherwise.
const lab = useLab({ system: 'zookeeper', options: { maxSessionTimeout: '60000' } });
const as = (user: string): string => lab.target.replace('zk://', `zk://${user}:pw@`);

for (const names of ['guid', 'plain'] as const) {
  describeBackend(`ZooKeeper, ${names === 'guid' ? 'names with a GUID' : 'plain numbers'},`, {
    facts: {
      names: 'printable-text',
      holderIs: 'owner-value',
      lease: 'session',
      whenFree: 'free',
      hold: 'refused',
      history: 'present-holder',
      fence: 'every-grant',
      readOnlyAccount: 'refused',
    },
    open: () => openTarget(as('app')),
    openAt: (port) => openTarget(`zk://127.0.0.1:${port}`),
    openReadOnly: () => openTarget(as('reader')),
    seed: () =>
      queueSeeder(lab.target, names, { auth: 'app:pw', acl: aclOf('app:pw', 'world-reads') }),
    pattern: (beginning) => parseText(`/contract/${names}/${beginning}*`),
  });
}
