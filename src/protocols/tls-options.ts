/** A target's TLS settings as Node's `tls.connect` takes them. */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import type { TlsOptions } from '../domain/target.ts';

/** Reads the files. @throws {Error} of node:fs, naming the file that cannot be read */
export function tlsOptions({
  caFile,
  certFile,
  keyFile,
  serverName,
}: TlsOptions): ConnectionOptions {
  return {
    ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }),
    ...(certFile === undefined ? {} : { cert: readFileSync(certFile) }),
    ...(keyFile === undefined ? {} : { key: readFileSync(keyFile) }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  };
}
