/** The ZooKeeper session of a holder is ended on the server while its process lives. */
import { createIntervention, type InterventionKind } from './intervention.ts';

export const expiringSession: InterventionKind = {
  name: 'expire-session',
  title: "end a holder's session on the server",
  // To end the session is also how the holder of a lone node releases it.
  causes: ['session-ended', 'released'],
  needs: 'only ZooKeeper has sessions that others can end',
};

export const expireSession = createIntervention(expiringSession);
