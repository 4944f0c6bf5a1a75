/** The etcd adapter against the contract of all backends, with queues of keys, on a cluster with users. */
import { beforeAll } from 'vitest';
import { parseText } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { describeBackend } from '../backend.contract.ts';
import { addUser, enableUsers, openTarget, queueSeeder, rawEtcd } from './etcd-seeder.ts';

const lab = useLab({ system: 'etcd' });
const as = (user: string): string => lab.target.replace('etcd://', `etcd://${user}:pw@`);

beforeAll(async () => {
  const raw = rawEtcd(lab.target);
  const everything = Buffer.of(0);
  await addUser(
    raw,
    { name: 'reader', password: 'pw' },
    { permType: 'Read', key: everything, range_end: everything },
  );
  await enableUsers(raw, 'pw');
  raw.close();
});

describeBackend('etcd', {
  facts: {
    names: 'any-bytes',
    holderIs: 'owner-value',
    lease: 'ttl',
    whenFree: 'gone',
    hold: 'replaces',
    history: 'past-grants',
    fence: 'every-grant',
    readOnlyAccount: 'refused',
  },
  open: () => openTarget(as('root')),
  openAt: (port) => openTarget(`etcd://127.0.0.1:${port}`),
  openReadOnly: () => openTarget(as('reader')),
  seed: () => Promise.resolve(queueSeeder(as('root'))),
  pattern: (beginning) => parseText(`/contract/${beginning}*`),
});
