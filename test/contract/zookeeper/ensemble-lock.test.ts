/** A lock on three members outlives the member that its holder, its waiter and its observer talk to. */
import { expect, test } from 'vitest';
import { attach } from '../../../src/clients/zookeeper/lean-attach.ts';
import { parseTarget } from '../../../src/domain/target.ts';
import { stringToText } from '../../../src/domain/text.ts';
import { zooKeeperSequential } from '../../../src/protocols/zookeeper-sequential.ts';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';
import { take } from '../protocol-stage.ts';

const ensemble = useLab({ system: 'zookeeper', members: 3 });

test('a lock and its queue outlive the member that everybody was connected to', async () => {
  const { lab } = ensemble;
  const context = {
    target: parseTarget(lab.target),
    requestTimeoutMs: 2000,
    clientName: 'fencepost-test',
  };
  const connect = () => zooKeeperSequential.connect({ ...context, mutation: undefined });
  const [a, b] = [await connect(), await connect()];
  const observer = await zooKeeperSequential.observe(context);
  const lost: string[] = [];
  a.onLost((_, reason) => lost.push(reason));
  try {
    const lock = 'fp-test-ensemble/order';
    const [first, second] = [stringToText('a'), stringToText('b')];
    const grant = await take({ client: a }, lock, first, 10_000);
    expect(await observer.state(lock)).toMatchObject({ owner: first, fence: grant.fence });
    const waiting = take({ client: b }, lock, second, 10_000, 20_000);
    const reader = await attach({ ...context, session: undefined, wishMs: 10_000, lastZxid: 0n });
    await until('the waiter stands in the queue', async () => {
      const { children } = await reader.getChildren(`/${lock}`);
      return children.length === 2;
    });
    reader.drop('seen');
    // Members are asked in their order, so everybody talks to the first.
    await lab.kill(lab.servers[0]?.name ?? '');
    await until('the holder is heard again', async () => {
      const reply = await a.renew(lock, grant, 10_000);
      expect(reply.outcome === 'fail' && reply.code === 'not-owner').toBe(false);
      return reply.outcome === 'ok';
    });
    expect(await observer.state(lock)).toMatchObject({ owner: first, fence: grant.fence });
    expect(await a.release(lock, grant)).toMatchObject({ outcome: 'ok' });
    const next = await waiting;
    expect(next.fence ?? 0n).toBeGreaterThan(grant.fence ?? 0n);
    expect(await observer.end(lock, first)).toMatchObject({ cause: 'released' });
    expect((await observer.grants(lock)).map(({ owner }) => owner)).toEqual([first, second]);
    expect(lost).toEqual([]);
  } finally {
    await Promise.all([a.close(), b.close(), observer.close()]);
  }
});
