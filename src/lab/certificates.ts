/** A certificate authority of one lab, with one certificate that servers and clients share. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';

/** PEM files. */
export interface LabCertificates {
  readonly caFile: string;
  /** For 127.0.0.1, ::1 and localhost; good for servers and for clients. */
  readonly certFile: string;
  readonly keyFile: string;
}

const day = 24 * 60 * 60 * 1000;

/** Makes them in `folder`, valid for a month: a lab does not live that long. */
export async function makeCertificates(folder: string): Promise<LabCertificates> {
  const shared = {
    keyType: 'ec',
    algorithm: 'sha256',
    // Yesterday: containers and hosts do not always agree on the time.
    notBeforeDate: new Date(Date.now() - day),
    notAfterDate: new Date(Date.now() + 30 * day),
  } as const;
  const ca = await generate([{ name: 'commonName', value: 'fencepost lab CA' }], {
    ...shared,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  const leaf = await generate([{ name: 'commonName', value: 'fencepost lab' }], {
    ...shared,
    ca: { key: ca.private, cert: ca.cert },
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
          { type: 7, ip: '::1' },
        ],
      },
    ],
  });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const write = (name: string, text: string): string => {
    const file = join(folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };
  return {
    caFile: write('ca.pem', ca.cert),
    certFile: write('cert.pem', leaf.cert),
    keyFile: write('key.pem', leaf.private),
  };
}
