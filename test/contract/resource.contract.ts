/** What every business resource must do, whatever database it stands on. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AcceptRule } from '../../src/domain/scenario.ts';
import { ResourceClient } from '../../src/resources/resource-client.ts';
import { startResourceServer } from '../../src/resources/resource-server.ts';
import type { ResourceServer, WriteReply, WriteRequest } from '../../src/resources/resource.ts';

let requests = 0;

/** One request of `owner`; the subject and operation default to one order. */
export function order(owner: string, fence: bigint | null, more: Partial<WriteRequest> = {}) {
  requests += 1;
  return {
    kind: 'write',
    requestId: `t${requests}`,
    action: 'close-order',
    subject: 'o-1',
    operationId: 'close/o-1',
    worker: owner,
    attempt: 1,
    owner,
    fence: fence === null ? null : String(fence),
    ...more,
  } satisfies WriteRequest;
}

/** Runs the contract on the database at `url`, or the embedded one. */
export function describeResource(name: string, url: string | undefined): void {
  describe(`the business resource on ${name}`, () => {
    let folder = '';
    const open: (() => Promise<void>)[] = [];
    const start = async (accept: AcceptRule) => {
      const run = `t${process.pid}_${(requests += 1)}`;
      const server = await startResourceServer({ accept, url, folder, run });
      const client = new ResourceClient(server.endpoint, 5000);
      open.push(async () => {
        client.close();
        await server.stop();
      });
      const write = async (request: WriteRequest): Promise<WriteReply> => {
        const outcome = await client.write(request);
        if (outcome.outcome === 'ok') return outcome.reply;
        throw new Error(`${outcome.code}: ${outcome.detail ?? ''}`);
      };
      return { server, client, write };
    };
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'fencepost-resource-'));
    });
    afterAll(async () => {
      await Promise.all(open.map((close) => close()));
      await rm(folder, { recursive: true, force: true });
    });

    test('a write with a smaller token than the last accepted one is refused as stale', async () => {
      const { write, server } = await start('greater-or-equal');
      expect(await write(order('B', 10n))).toMatchObject({ accepted: true, code: 'accepted' });
      expect(await write(order('A', 9n))).toMatchObject({ accepted: false, code: 'stale-token' });
      const rows = await server.ledger();
      expect(rows.map((row) => [row.owner, row.fence, row.accepted, row.code])).toEqual([
        ['B', 10n, true, 'accepted'],
        ['A', 9n, false, 'stale-token'],
      ]);
    });

    test('an equal token of another owner is refused and called a fence fault', async () => {
      const { write } = await start('greater-or-equal');
      await write(order('A', 3n));
      const other = order('B', 3n, { operationId: 'other' });
      expect(await write(other)).toMatchObject({ accepted: false, code: 'fence-fault' });
    });

    test('with greater-or-equal the same grant may write again', async () => {
      const { write } = await start('greater-or-equal');
      const note = { action: 'write', subject: 'note' } as const;
      await write(order('A', 3n, { ...note, operationId: 'n1', value: 'one' }));
      const again = await write(order('A', 3n, { ...note, operationId: 'n2', value: 'two' }));
      expect(again).toMatchObject({ accepted: true, replayed: false });
    });

    test('with greater one grant writes a subject once', async () => {
      const { write } = await start('greater');
      const note = { action: 'write', subject: 'note' } as const;
      await write(order('A', 3n, { ...note, operationId: 'n1' }));
      const again = await write(order('A', 3n, { ...note, operationId: 'n2' }));
      expect(again).toMatchObject({ accepted: false, code: 'token-used' });
    });

    test.each(['greater', 'greater-or-equal'] as const)(
      'under %s a repeated operation of the same grant is answered as the first time and applied once',
      async (accept) => {
        const { write, server } = await start(accept);
        const stock = { action: 'release-stock', subject: 'sku-1', operationId: 'r1' } as const;
        const first = await write(order('A', 3n, stock));
        const second = await write(order('A', 3n, stock));
        expect(second).toMatchObject({ accepted: true, replayed: true, version: first.version });
        expect(await server.query('SELECT available FROM stock')).toEqual([{ available: '101' }]);
      },
    );

    test('an effect of an older grant is not applied again by a newer one', async () => {
      const { write, server } = await start('greater-or-equal');
      const stock = { action: 'release-stock', subject: 'sku-1', operationId: 'r1' } as const;
      await write(order('A', 3n, stock));
      expect(await write(order('B', 4n, stock))).toMatchObject({ accepted: true, replayed: true });
      expect(await server.query('SELECT available FROM stock')).toEqual([{ available: '101' }]);
      // The newer grant's token counts, so the older one is out.
      const late = order('A', 3n, { ...stock, operationId: 'r2' });
      expect(await write(late)).toMatchObject({ accepted: false, code: 'stale-token' });
    });

    test('the control that accepts any token applies a stale write a second time', async () => {
      const { write, server } = await start('any');
      await write(order('B', 2n));
      expect(await write(order('A', 1n))).toMatchObject({ accepted: true, code: 'accepted' });
      const applied = (await server.ledger()).filter((row) => row.accepted && !row.replayed);
      expect(applied.map((row) => row.fence)).toEqual([2n, 1n]);
    });

    test('tokens are compared as numbers up to 2^63 - 1 and refused beyond', async () => {
      const { write } = await start('greater');
      const note = (owner: string, fence: bigint) =>
        order(owner, fence, { action: 'write', subject: 'n', operationId: `${owner}${fence}` });
      expect(await write(note('A', 9n))).toMatchObject({ accepted: true });
      expect(await write(note('B', 10n))).toMatchObject({ accepted: true });
      expect(await write(note('C', 2n ** 53n + 1n))).toMatchObject({ accepted: true });
      expect(await write(note('D', 2n ** 53n))).toMatchObject({ code: 'stale-token' });
      expect(await write(note('E', 2n ** 63n - 1n))).toMatchObject({ accepted: true });
      expect(await write(note('F', 2n ** 63n))).toMatchObject({ code: 'token-out-of-range' });
    });

    test('a fenced resource refuses a write without a token', async () => {
      const { write } = await start('greater');
      expect(await write(order('A', null))).toMatchObject({ accepted: false, code: 'no-token' });
    });

    test('a paid order is never closed', async () => {
      const { write, server } = await start('greater-or-equal');
      await write(order('A', 1n, { action: 'pay-order', operationId: 'pay/o-1' }));
      expect(await write(order('B', 2n))).toMatchObject({ accepted: false, code: 'wrong-state' });
      expect(await server.query('SELECT status FROM orders')).toEqual([{ status: 'paid' }]);
    });

    test('an effect begun and never completed is not begun again by the next grant', async () => {
      const { write } = await start('greater-or-equal');
      const mail = { action: 'begin-effect', subject: 'mail', operationId: 'm1' } as const;
      await write(order('A', 1n, mail));
      expect(await write(order('B', 2n, mail))).toMatchObject({ code: 'effect-in-doubt' });
      await write(order('A', 1n, { ...mail, action: 'complete-effect' }));
      expect(await write(order('B', 2n, mail))).toMatchObject({ accepted: true, replayed: true });
    });

    test('a checkpoint of an old attempt is refused', async () => {
      const { write, server } = await start('greater-or-equal');
      const task = { subject: 't-1' } as const;
      await write(order('A', 1n, { ...task, action: 'claim-task', operationId: 'c1' }));
      await write(order('B', 2n, { ...task, action: 'claim-task', operationId: 'c2' }));
      const late = order('A', 1n, { ...task, action: 'checkpoint', operationId: 'k', value: '7' });
      expect(await write(late)).toMatchObject({ accepted: false, code: 'stale-token' });
      const [row] = await server.query('SELECT attempt, fence, checkpoint FROM tasks');
      expect(row).toEqual({ attempt: '2', fence: '2', checkpoint: null });
    });

    test('concurrent writes of many owners to one subject leave one order of growing tokens', async () => {
      const { server } = await start('greater');
      const clients = Array.from({ length: 6 }, () => new ResourceClient(server.endpoint, 5000));
      const writes = clients.flatMap((client, which) =>
        Array.from({ length: 10 }, (_, nth) => {
          const index = which + nth * 6;
          const fence = BigInt((index * 37) % 61) + 1n;
          const note = { action: 'write', subject: 'n', operationId: `c${index}` } as const;
          return client.write(order(`w${index}`, fence, note));
        }),
      );
      await Promise.all(writes);
      for (const client of clients) client.close();
      const rows = await server.ledger();
      expect(rows).toHaveLength(60);
      const accepted = rows.filter((row) => row.accepted).map((row) => row.fence ?? 0n);
      expect(accepted).toEqual([...accepted].sort((a, b) => (a < b ? -1 : 1)));
      expect(accepted.at(-1)).toBe(61n);
    });

    test('a client that stops in the middle of a request holds up nobody', async () => {
      const { write, server } = await start('greater-or-equal');
      const { connect } = await import('node:net');
      const stuck = connect(server.endpoint.port, server.endpoint.host);
      stuck.write('{"kind":"write","requestId":"stuck","action":"close-order","subject":"o-1"');
      expect(await write(order('B', 2n))).toMatchObject({ accepted: true });
      stuck.destroy();
    });

    test('a query that writes, or is two statements, is refused and changes nothing', async () => {
      const { write, server } = await start('greater');
      await write(order('A', 1n));
      for (const sql of ['DELETE FROM orders', 'SELECT 1 AS x; DELETE FROM orders']) {
        await expect(server.query(sql)).rejects.toMatchObject({ code: 'bad-query' });
      }
      // Closing our parenthesis gets a statement of its own past the parser of libsql, never a write.
      const sly = 'SELECT 1 AS x) AS q; COMMIT; DELETE FROM orders; SELECT * FROM (SELECT 1 AS x';
      await server.query(sly).catch(() => undefined);
      expect(await server.query('SELECT id FROM orders')).toEqual([{ id: 'o-1' }]);
    });

    test('a broken request is answered, not executed', async () => {
      const { client } = await start('greater');
      const broken = { ...order('A', 1n), subject: '' };
      expect(await client.write(broken)).toMatchObject({
        reply: { accepted: false, code: 'bad-request' },
      });
    });

    test('the process ends, and its schema with it, when its parent closes the pipe', async () => {
      const { server } = await start('greater');
      const gone: ResourceServer = server;
      await gone.stop();
      expect(() => process.kill(gone.pid, 0)).toThrow();
    });
  });
}
