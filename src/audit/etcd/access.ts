/** Checks of who can reach the cluster, and of what its users may do. */
import { valueOf } from '../../domain/known.ts';
import type { EtcdCheck } from '../check.ts';
import { judgeBy, notApplicable, reading } from '../readings.ts';

export const openCluster: EtcdCheck = {
  id: 'E11',
  title: 'open access',
  severity: 'high',
  reads: ['this connection', 'a read without a user'],
  why: 'who reaches the port, or reads its traffic, can delete any lock',
  fix: '--client-cert-auth with TLS, and users: `etcdctl auth enable` with a role for each application',
  judge: ({ server }) => {
    const { openToAll, encrypted, certificate } = server;
    const users = reading('get without a user', openToAll, (open) =>
      open ? 'answered' : 'refused',
    );
    const wanted = 'TLS, and users or client certificates';
    if (!encrypted) {
      const open = valueOf(openToAll) === true ? ', and no user is asked for' : '';
      const line = { command: 'this connection', value: 'clear text' };
      return { state: 'fail', found: `clear text${open}`, wanted, evidence: [line] };
    }
    if (certificate && valueOf(openToAll) === true) {
      return {
        state: 'unknown',
        reason:
          'users are off, and whether a client without a certificate is turned away was not tried',
        remedy: 'look at --client-cert-auth: true is right',
        evidence: [],
      };
    }
    return judgeBy([users], ([answer = '']) => ({
      ok: answer === 'refused',
      found: answer === 'refused' ? 'TLS, users are on' : 'TLS, but neither users nor certificates',
      wanted,
    }));
  },
};

export const wideRoles: EtcdCheck = {
  id: 'E12',
  title: 'roles of applications',
  severity: 'med',
  reads: ['role list', 'role get of each'],
  why: 'an application that may write every key can delete the locks of all others by one slip',
  fix: 'grant roles a prefix only: etcdctl role grant-permission ROLE readwrite PREFIX --prefix=true',
  judge: ({ server }) => {
    if (valueOf(server.openToAll) === true) {
      return notApplicable('users are off, so there are no roles: see E11');
    }
    return judgeBy(
      [reading('role get', server.wideRoles, (roles) => roles.join(', '))],
      ([roles = '']) => ({
        ok: roles === '',
        found: roles === '' ? 'none may write every key' : `${roles} may write every key`,
        wanted: 'a prefix for each',
      }),
    );
  },
};

export const fenceInUse: EtcdCheck = {
  id: 'E16',
  title: 'revision as fence',
  severity: 'high',
  reads: ['nothing: it is not on the server'],
  why: 'a paused owner writes after its lease has ended, unless the resource refuses an older revision',
  fix: 'send the create revision of the lock key with each write, and let the resource refuse smaller ones',
  judge: () => ({
    state: 'unknown',
    reason: 'nothing says whether the resources compare the create revision of the lock',
    remedy: 'prove it by `fencepost run` with your own worker, then allow it: --allow-unknown E16',
    evidence: [],
  }),
};
