/** One GET of what a server tells about itself over HTTP, beside its own protocol. */
import { request as clearRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { SecureContextOptions } from 'node:tls';
import type { Endpoint } from '../domain/target.ts';

/** What it takes to trust the server, and to be trusted by it. */
export type HttpTls = Pick<SecureContextOptions, 'ca' | 'key' | 'cert'> & {
  readonly servername?: string;
};

export interface HttpLimits {
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  /** Undefined: in clear text. */
  readonly tls?: HttpTls | undefined;
}

/**
 * The body as text.
 * @throws {Error} anything but HTTP 200, no answer in time, a body that is too large or cut off
 */
export function httpGet(
  { host, port }: Endpoint,
  path: string,
  { timeoutMs, maxBodyBytes, tls }: HttpLimits,
): Promise<string> {
  const where = { host, port, path, signal: AbortSignal.timeout(timeoutMs) };
  const call = tls === undefined ? clearRequest(where) : tlsRequest({ ...where, ...tls });
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
        if (size > maxBodyBytes) call.destroy(new Error('answer too large'));
        else chunks.push(chunk);
      });
      // Without it a connection that ends within the body would leave the caller waiting for ever.
      reply.on('error', reject);
      reply.on('end', () => {
        resolve(Buffer.concat(chunks).toString('utf8'));
      });
    });
    call.on('error', reject);
    call.end();
  });
}
