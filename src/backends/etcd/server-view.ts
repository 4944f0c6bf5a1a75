/** Which member answers, and what it is in its cluster. */
import { known, unknown, type Known } from '../../domain/known.ts';
import type { ServerView } from '../../domain/lock.ts';
import { FencepostError } from '../../domain/errors.ts';
import type { EtcdLink } from '../../clients/etcd/link.ts';
import { toAnswer } from './range.ts';
import type { SnapshotContext } from './snapshot.ts';

/** Asks the member in use for its status. @throws {FencepostError} when none can be used */
export async function readContext(link: EtcdLink, signal: AbortSignal): Promise<SnapshotContext> {
  try {
    const status = await link.read((api, options) => api.maintenance.status(options), { signal });
    const { clusterId, memberId } = toAnswer(status.header);
    const leader = BigInt(status.leader).toString(16);
    return { clusterId, server: view(link, known(leader === memberId ? 'leader' : 'follower')) };
  } catch (error) {
    if (!(error instanceof FencepostError) || error.code !== 'permission-denied') throw error;
    const role = unknown(
      'this account may not ask for the status of a member',
      'grant the root role, or ask with another account',
    );
    return { clusterId: await clusterIdBesides(link, signal), server: view(link, role) };
  }
}

/** The answer to anything carries the cluster id. */
async function clusterIdBesides(link: EtcdLink, signal: AbortSignal): Promise<string> {
  const reply = await link.read(
    (api, options) => api.leaseClient.leaseTimeToLive({ ID: '1' }, options),
    {
      signal,
    },
  );
  return toAnswer(reply.header).clusterId;
}

function view(link: EtcdLink, role: Known<string>): ServerView {
  return { endpoint: link.member, role };
}
