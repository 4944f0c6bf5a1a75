/** Checks of who can reach and release locks. */
import type { RedisCheck } from '../check.ts';
import { judgeBy, reading } from '../readings.ts';
import { setting } from './readings.ts';

/** Addresses at which only this machine reaches the server. */
const loopback = /^-?(?:127(?:\.\d+){3}|::1|localhost)$/;

export const openAccess: RedisCheck = {
  id: 'R16',
  title: 'open access',
  severity: 'high',
  reads: ['ACL GETUSER default', 'CONFIG GET bind', 'this connection'],
  why: 'who reaches the port, or reads its traffic, can delete any lock',
  fix: 'a password (ACL SETUSER default …), accounts of their own for applications, and TLS',
  judge: (facts) => {
    const { openToAll, encrypted } = facts.server;
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
