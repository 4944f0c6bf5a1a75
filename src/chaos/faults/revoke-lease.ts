/** The etcd lease of a holder is revoked: not an expiry, the server ends it at once. */
import { createIntervention, type InterventionKind } from './intervention.ts';

export const revokingLease: InterventionKind = {
  name: 'revoke-lease',
  title: "revoke a holder's lease on the server",
  causes: ['session-ended'],
  needs: 'only etcd has leases that can be revoked',
};

export const revokeLease = createIntervention(revokingLease);
