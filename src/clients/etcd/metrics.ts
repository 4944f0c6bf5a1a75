/** The metrics that a member serves over HTTP beside its client port's gRPC; often closed off. */
import { known, unknown, type Known } from '../../domain/known.ts';
import { displayEndpoint, type Endpoint, type TlsOptions } from '../../domain/target.ts';
import { stringToText } from '../../domain/text.ts';
import { httpGet, type HttpTls } from '../http-get.ts';
import { readCredentials } from './member.ts';

const maxBodyBytes = 8 * 1024 * 1024;
const remedy = 'open /metrics on the client port to this machine';

/** Values by name with labels, as `etcd_server_has_leader`. Never throws for a member that is closed. */
export async function readMetrics(
  endpoint: Endpoint,
  tls: TlsOptions | undefined,
  timeoutMs: number,
): Promise<Known<ReadonlyMap<string, number>>> {
  try {
    const limits = { timeoutMs, maxBodyBytes, tls: tls === undefined ? undefined : tlsSetup(tls) };
    const found = parseMetrics(await httpGet(endpoint, '/metrics', limits));
    return found.size > 0
      ? known(found)
      : unknown(`/metrics of ${displayEndpoint(endpoint)} has no etcd metric`, remedy);
  } catch (error) {
    const why = error instanceof Error ? stringToText(error.message) : 'it failed';
    return unknown(`/metrics of ${displayEndpoint(endpoint)}: ${why}`, remedy);
  }
}

/** Lines `name{labels} value`; comments and what is no number are left out. */
export function parseMetrics(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, name, value] = /^((?:etcd|process)_[a-z_]+(?:\{[^}]*\})?) (\S+)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    const amount = Number(value);
    if (Number.isFinite(amount)) found.set(name, amount);
  }
  return found;
}

function tlsSetup(tls: TlsOptions): HttpTls {
  const { options, serverName } = readCredentials(tls);
  const { rootCertificate, privateKey, certChain } = { ...options.credentials };
  return {
    ca: rootCertificate,
    ...(privateKey === undefined ? {} : { key: privateKey }),
    ...(certChain === undefined ? {} : { cert: certChain }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  };
}
