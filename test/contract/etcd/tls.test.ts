/** etcds:// with a CA of one's own and a client certificate, and each way in which TLS fails. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openServiceProxies } from '../../../src/chaos/open-proxy.ts';
import { parseTarget } from '../../../src/domain/target.ts';
import { parseText, stringToText } from '../../../src/domain/text.ts';
import { openProtocol } from '../../../src/protocols/registry.ts';
import { makeAuthority, makeCertificate } from '../../helpers/certificates.ts';
import { fencepost } from '../../helpers/fencepost.ts';
import { useLab } from '../../helpers/servers.ts';
import { collect, everyLock, forever } from '../backend/subject.ts';
import { openTarget } from './etcd-seeder.ts';

const folder = mkdtempSync(join(tmpdir(), 'fencepost-tls-'));
const file = (name: string): string => join(folder, name);

// Before the lab's own hook: its server reads the files when it starts.
beforeAll(() => {
  const ca = makeAuthority('ca');
  const server = makeCertificate('server', ca, 'etcd.test');
  const client = makeCertificate('client', ca, 'client.test');
  for (const { name, cert, key } of [ca, makeAuthority('other-ca'), server, client]) {
    writeFileSync(file(`${name}.pem`), cert);
    writeFileSync(file(`${name}.key`), key);
  }
});
const lab = useLab({
  system: 'etcd',
  options: {
    'cert-file': file('server.pem'),
    'key-file': file('server.key'),
    'trusted-ca-file': file('ca.pem'),
    'client-cert-auth': 'true',
  },
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const client = { ca: file('ca.pem'), cert: file('client.pem'), key: file('client.key') };

function target(params: Readonly<Record<string, string>>): string {
  return `${lab.target}?${new URLSearchParams(params).toString()}`;
}

async function failure(url: string): Promise<unknown> {
  const backend = await openTarget(url);
  try {
    return await collect(backend.list(everyLock, forever).locks).then(
      () => 'no failure',
      (error: unknown) => error,
    );
  } finally {
    await backend.close();
  }
}

describe('over TLS with a client certificate', () => {
  test('a lock is taken, listed, watched and released, through a proxy as well', async () => {
    const url = target(client);
    expect(url).toMatch(/^etcds:\/\//);
    const protocol = await openProtocol('etcd-lease', 'etcd');
    const { proxies, url: proxied } = await openServiceProxies(
      'A',
      parseTarget(url),
      protocol.wire,
      0n,
    );
    const worker = await protocol.connect({
      target: parseTarget(proxied),
      requestTimeoutMs: 2_000,
      clientName: 'fencepost-test',
      mutation: undefined,
    });
    const backend = await openTarget(url);
    try {
      const request = {
        lock: '/jobs/lock',
        owner: stringToText('owner-1'),
        leaseMs: 30_000,
        waitMs: 0,
      };
      const lost = new Promise<string>((resolve) => {
        worker.onLost(resolve);
      });
      expect(await worker.acquire(request)).toMatchObject({ outcome: 'ok' });
      const rows = await collect(backend.list(everyLock, forever).locks);
      expect(rows).toMatchObject([{ ref: { name: '/jobs/lock' }, state: 'held' }]);
      const seen = await backend.inspect({ name: parseText('/jobs/lock') }, forever);
      if (seen === undefined) throw new Error('the lock is not there');
      const history = backend.history(seen.ref, forever);
      expect(await collect(history.records)).toHaveLength(1);
      expect((await backend.release(seen, { timeoutMs: 5_000 }, forever)).outcome).toBe('released');
      expect(await lost).toBe('/jobs/lock');
    } finally {
      await backend.close();
      await worker.close();
      await Promise.all(proxies.map((proxy) => proxy.close()));
    }
  });

  test('the program lists without a word on stderr but its own', async () => {
    const { code, stderr } = await fencepost(['ls', '--target', target(client)]);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^no locks found [^\n]*\n$/)]);
  });

  test('a server name of the certificate is accepted in place of the address', async () => {
    const backend = await openTarget(target({ ...client, servername: 'etcd.test' }));
    try {
      expect((await backend.probe(forever)).writable).toEqual({ can: true });
    } finally {
      await backend.close();
    }
  });
});

describe('when TLS fails', () => {
  const failed = { code: 'tls-failed', exitCode: 4 };

  test('for an unknown CA, it says so', async () => {
    expect(await failure(target({ ...client, ca: file('other-ca.pem') }))).toMatchObject(failed);
  });

  test('for a name that the certificate does not have, it says so', async () => {
    expect(await failure(target({ ...client, servername: 'other.test' }))).toMatchObject(failed);
  });

  test('for want of a client certificate, it says so', async () => {
    expect(await failure(target({ ca: client.ca }))).toMatchObject(failed);
  });

  test('for clear text to a TLS port, it asks whether TLS was meant', async () => {
    expect(await failure(lab.target.replace('etcds://', 'etcd://'))).toMatchObject({
      code: 'target-unreachable',
      exitCode: 4,
      hint: expect.stringContaining('write etcds://') as unknown,
    });
  });

  test('for a file that is not there, nothing is connected to', async () => {
    await expect(openTarget(target({ ...client, key: file('none.key') }))).rejects.toMatchObject({
      code: 'bad-tls-file',
      exitCode: 2,
    });
  });
});
