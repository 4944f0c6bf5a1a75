/** Checks that make sense for every kind of lock service. */
import type { Check } from './check.ts';
import { judgeBy, reading } from './readings.ts';

export const readOnlyAccount: Check = {
  id: 'X03',
  title: 'rights of this account',
  severity: 'med',
  reads: ['ACL WHOAMI', 'ACL DRYRUN user SET fencepost:audit'],
  why: 'an inspection needs no writes, and a slip with this account can take or break a lock',
  fix: 'inspect with an account that has +@read only; the README has its ACL lines',
  judge: ({ server }) =>
    judgeBy(
      [
        reading('ACL WHOAMI', server.account, String),
        reading('ACL DRYRUN', server.mayWrite, (may) => (may ? 'may SET' : 'may not SET')),
      ],
      ([account = '', may = '']) => ({
        ok: may !== 'may SET',
        found: `"${account}" ${may}`,
        wanted: 'a read-only account',
      }),
    ),
};
