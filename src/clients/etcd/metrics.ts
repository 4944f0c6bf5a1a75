/** The metrics that a member serves over HTTP beside its client port's gRPC; often closed off. */
import { request as clearRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { known, unknown, type Known } from '../../domain/known.ts';
import { displayEndpoint, type Endpoint, type TlsOptions } from '../../domain/target.ts';
import { stringToText } from '../../domain/text.ts';
import { readCredentials } from './member.ts';

const longestBody = 8 * 1024 * 1024;
const remedy = 'open /metrics on the client port to this machine';

/** Values by name with labels, as `etcd_server_has_leader`. Never throws for a member that is closed. */
export async function readMetrics(
  endpoint: Endpoint,
  tls: TlsOptions | undefined,
  timeoutMs: number,
): Promise<Known<ReadonlyMap<string, number>>> {
  try {
    const found = parseMetrics(await get(endpoint, tls, timeoutMs));
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

function get(
  { host, port }: Endpoint,
  tls: TlsOptions | undefined,
  timeoutMs: number,
): Promise<string> {
  const where = { host, port, path: '/metrics', signal: AbortSignal.timeout(timeoutMs) };
  const call = tls === undefined ? clearRequest(where) : tlsRequest({ ...where, ...tlsSetup(tls) });
  return new Promise((resolve, reject) => {
    call.on('response', (reply) => {
      if (reply.statusCode !== 200) {
        reply.resume();
        reject(new Error(`answered HTTP ${reply.statusCode ?? 0}`));
        return;
      }
      const chunks: Buffer[] = [];
      let size = 0;
      reply.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > longestBody) call.destroy(new Error('answer too large'));
        else chunks.push(chunk);
      });
      reply.on('error', reject);
      reply.on('end', () => {
        resolve(Buffer.concat(chunks).toString('utf8'));
      });
    });
    call.on('error', reject);
    call.end();
  });
}

function tlsSetup(tls: TlsOptions): Readonly<Record<string, unknown>> {
  const { options, serverName } = readCredentials(tls);
  const { rootCertificate, privateKey, certChain } = { ...options.credentials };
  return {
    ca: rootCertificate,
    ...(privateKey === undefined ? {} : { key: privateKey }),
    ...(certChain === undefined ? {} : { cert: certChain }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  };
}
