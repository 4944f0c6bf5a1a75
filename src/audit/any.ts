/** Checks that make sense for every kind of lock service. */
import type { Check } from './check.ts';
import { judgeBy, reading } from './readings.ts';

const asked = {
  redis: { account: 'ACL WHOAMI', rights: 'ACL DRYRUN user SET fencepost:audit' },
  etcd: { account: 'the target', rights: 'get without a user, user get, role get' },
} as const;

export const readOnlyAccount: Check = {
  id: 'X03',
  title: 'rights of this account',
  severity: 'med',
  reads: Object.values(asked).flatMap(({ account, rights }) => [account, rights]),
  why: 'an inspection needs no writes, and a slip with this account can take or break a lock',
  fix: 'inspect with an account that may only read; the README has the ACL lines for Redis',
  judge: ({ server }) =>
    judgeBy(
      [
        reading(asked[server.kind].account, server.account, String),
        reading(asked[server.kind].rights, server.mayWrite, (may) =>
          may ? 'may write' : 'may not write',
        ),
      ],
      ([account = '', may = '']) => ({
        ok: may !== 'may write',
        found: `"${account}" ${may}`,
        wanted: 'a read-only account',
      }),
    ),
};
