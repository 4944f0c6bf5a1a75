/** The Redis adapter against the contract of all backends, with plain string locks. */
import { beforeAll } from 'vitest';
import { parseText } from '../../../src/domain/text.ts';
import { useLab } from '../../helpers/servers.ts';
import { describeBackend } from '../backend.contract.ts';
import { openTarget, plainSeeder, rawRedis } from './redis-seeder.ts';

const lab = useLab({ system: 'redis' });

beforeAll(async () => {
  const raw = rawRedis(lab.target);
  await raw.call('ACL', 'SETUSER', 'reader', 'on', '>pw', '~*', '&*', '+@read');
  await raw.quit();
});

describeBackend('Redis', {
  facts: {
    names: 'any-bytes',
    holderIs: 'owner-value',
    lease: 'ttl',
    whenFree: 'gone',
    hold: 'replaces',
    history: 'present-holder',
    fence: 'none',
    readOnlyAccount: 'refused',
  },
  open: () => openTarget(lab.target),
  openAt: (port) => openTarget(`redis://127.0.0.1:${port}`),
  openReadOnly: () => openTarget(lab.target.replace('redis://', 'redis://reader:pw@')),
  seed: () => Promise.resolve(plainSeeder(lab.target)),
  pattern: (beginning) => parseText(`contract:${beginning}*`),
});
