/** What an operator can do to an etcd lock past its holder: delete its key, or revoke its lease. */
import { TargetError } from '../domain/errors.ts';
import type { EtcdLink } from '../clients/etcd/link.ts';
import {
  bytesOf,
  dropLease,
  hex,
  nameBytes,
  openEtcdLink,
  prefixEnd,
  timeLeft,
} from './etcd-client.ts';
import type { EtcdLayout } from './etcd-observer.ts';
import type { Intervention, InterventionName, ServerShown } from './protocol.ts';

interface Held {
  readonly key: Buffer;
  readonly lease: bigint;
}

type Act = (link: EtcdLink, held: Held) => Promise<ServerShown>;

const never = new AbortController().signal;

/** Both, for a layout. */
export function etcdInterventions(
  layout: EtcdLayout,
): Readonly<Partial<Record<InterventionName, Intervention>>> {
  const on =
    (act: Act): Intervention =>
    async (context, lock, owner) => {
      const link = await openEtcdLink(context);
      try {
        const held = (await keysOf(link, layout, lock)).find(({ value }) =>
          value.equals(bytesOf(owner)),
        );
        return held === undefined ? undefined : await act(link, held);
      } finally {
        link.close();
      }
    };
  return { 'remove-record': on(removeRecord), 'revoke-lease': on(revokeLease) };
}

async function keysOf(
  link: EtcdLink,
  layout: EtcdLayout,
  lock: string,
): Promise<readonly (Held & { readonly value: Buffer })[]> {
  const from = nameBytes(layout === 'queue' ? `${lock}/` : lock);
  const range = layout === 'queue' ? { key: from, range_end: prefixEnd(from) } : { key: from };
  const { kvs } = await link.read((api, options) => api.kv.range(range, options), {
    signal: never,
  });
  return kvs.map(({ key, value, lease }) => ({ key, value, lease: BigInt(lease) }));
}

async function removeRecord(link: EtcdLink, { key, lease }: Held): Promise<ServerShown> {
  const reply = await link.write((api, options) => api.kv.deleteRange({ key }, options), {
    signal: never,
  });
  const ttlMs = await leaseLeft(link, lease);
  return {
    fact: `${reply.deleted} key deleted at revision ${reply.header.revision}, its lease has ${ttlMs ?? 'no'} ms left`,
    proves: 'the key was removed while its lease lived',
    holds: reply.deleted === '1' && ttlMs !== undefined,
  };
}

async function revokeLease(link: EtcdLink, { key, lease }: Held): Promise<ServerShown> {
  const before = await leaseLeft(link, lease);
  await dropLease(link, lease);
  const after = await leaseLeft(link, lease);
  const { count } = await link.read((api, options) => api.kv.range({ key }, options), {
    signal: never,
  });
  return {
    fact: `lease ${hex(lease)}: TTL ${before ?? 'none'} ms before, ${after ?? 'none'} after; ${count} of its key left`,
    proves: 'the lease was revoked, and its key went with it',
    holds: before !== undefined && after === undefined && count === '0',
  };
}

/** Undefined: it has ended. */
async function leaseLeft(link: EtcdLink, lease: bigint): Promise<number | undefined> {
  const reply = await timeLeft(link, lease);
  if (reply.outcome === 'ok') return reply.ttlMs;
  throw new TargetError(`lease ${hex(lease)} could not be read: ${reply.detail ?? reply.code}`, {
    code: 'observation-failed',
  });
}
