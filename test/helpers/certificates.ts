/** Throwaway X.509 certificates for tests. Node makes keys and signatures; the few DER bytes are here. */
import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';

export interface Certificate {
  readonly name: string;
  /** PEM. */
  readonly cert: string;
  /** PEM, PKCS #8. */
  readonly key: string;
  readonly privateKey: KeyObject;
}

/** Who may sign others. */
export function makeAuthority(name: string): Certificate {
  return make(name, undefined, [extension(oids.basicConstraints, sequence(yes), true)]);
}

/** For the server and the client side on 127.0.0.1; `dnsName` besides. Valid for a day. */
export function makeCertificate(
  name: string,
  authority: Certificate,
  dnsName: string,
): Certificate {
  const names = sequence(der(0x82, Buffer.from(dnsName)), der(0x87, Buffer.of(127, 0, 0, 1)));
  const usages = sequence(oids.serverAuth, oids.clientAuth);
  return make(name, authority, [
    extension(oids.subjectAltName, names, false),
    extension(oids.extendedKeyUsage, usages, false),
  ]);
}

function make(
  name: string,
  authority: Certificate | undefined,
  extensions: readonly Buffer[],
): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const day = 86_400_000;
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    sequence(oids.ecdsaWithSha256),
    distinguished(authority?.name ?? name),
    sequence(utcTime(Date.now() - day), utcTime(Date.now() + day)),
    distinguished(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', toBeSigned, authority?.privateKey ?? privateKey);
  const whole = sequence(toBeSigned, sequence(oids.ecdsaWithSha256), bitString(signature));
  const lines = whole.toString('base64').replace(/.{64}/g, '$&\n');
  return {
    name,
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    privateKey,
  };
}

/** Tag, length, content. */
function der(tag: number, content: Uint8Array): Buffer {
  const { length } = content;
  const head =
    length < 0x80
      ? [tag, length]
      : length < 0x100
        ? [tag, 0x81, length]
        : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function bitString(content: Buffer): Buffer {
  return der(0x03, Buffer.concat([Buffer.of(0), content]));
}

function distinguished(name: string): Buffer {
  const attribute = sequence(oids.commonName, der(0x0c, Buffer.from(name)));
  return sequence(der(0x31, attribute));
}

function utcTime(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replace(/\D/g, '');
  return der(0x17, Buffer.from(`${digits.slice(2, 14)}Z`));
}

function extension(oid: Buffer, value: Buffer, critical: boolean): Buffer {
  return sequence(oid, ...(critical ? [yes] : []), der(0x04, value));
}

const yes = der(0x01, Buffer.of(0xff));

/** Object identifiers, their arcs already encoded. */
const oids = {
  commonName: oid('550403'),
  basicConstraints: oid('551d13'),
  subjectAltName: oid('551d11'),
  extendedKeyUsage: oid('551d25'),
  serverAuth: oid('2b06010505070301'),
  clientAuth: oid('2b06010505070302'),
  ecdsaWithSha256: oid('2a8648ce3d040302'),
};

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}
