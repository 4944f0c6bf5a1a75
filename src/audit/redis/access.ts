/** Checks of who can reach and release locks. */
import type { Check } from '../check.ts';
import { judgeBy, reading, setting } from '../readings.ts';

/** Addresses at which only this machine reaches the server. */
const loopback = /^-?(?:127(?:\.\d+){3}|::1|localhost)$/;

export const openAccess: Check = {
  id: 'R16',
  title: 'open access',
  severity: 'high',
  reads: ['ACL GETUSER default', 'CONFIG GET bind', 'this connection'],
  why: 'who reaches the port, or reads its traffic, can delete any lock',
  fix: 'a password (ACL SETUSER default …), accounts of their own for applications, and TLS',
  judge: (facts) => {
    const { openToAll, encrypted } = facts.redis;
    const users = reading('ACL GETUSER default', openToAll, (open) => (open ? 'nopass' : 'closed'));
    const bind = setting(facts, 'bind');
    const local =
      bind.answer.kind !== 'unknown' &&
      bind.answer.value.split(' ').every((address) => loopback.test(address));
    const wanted = 'a password, and TLS unless bound to loopback';
    if (!encrypted && bind.answer.kind !== 'unknown' && !local) {
      const found = `clear text, bound to "${bind.answer.value}"`;
      return judgeBy([bind], () => ({ ok: false, found, wanted }));
    }
    const openUser = openToAll.kind !== 'unknown' && openToAll.value;
    const needed = openUser || encrypted ? [users] : [users, bind];
    return judgeBy(needed, ([user = '']) => ({
      ok: user !== 'nopass',
      found:
        user === 'nopass'
          ? 'the default user needs no password'
          : `the default user is closed, ${encrypted ? 'TLS' : 'loopback only'}`,
      wanted,
    }));
  },
};

export const readOnlyAccount: Check = {
  id: 'X03',
  title: 'rights of this account',
  severity: 'med',
  reads: ['ACL WHOAMI', 'ACL DRYRUN user SET fencepost:audit'],
  why: 'an inspection needs no writes, and a slip with this account can take or break a lock',
  fix: 'inspect with an account that has +@read only; the README has its ACL lines',
  judge: ({ redis }) =>
    judgeBy(
      [
        reading('ACL WHOAMI', redis.account, String),
        reading('ACL DRYRUN', redis.mayWrite, (may) => (may ? 'may SET' : 'may not SET')),
      ],
      ([account = '', may = '']) => ({
        ok: may !== 'may SET',
        found: `"${account}" ${may}`,
        wanted: 'a read-only account',
      }),
    ),
};
