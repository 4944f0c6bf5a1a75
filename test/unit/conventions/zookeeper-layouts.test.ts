/** What each ZooKeeper layout says of records that the shared fixtures do not show. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ZooKeeperChild, ZooKeeperRecord } from '../../../src/conventions/convention.ts';
import {
  curatorMutex,
  curatorReadWriteLock,
  curatorSemaphore,
} from '../../../src/conventions/curator.ts';
import { distributedLockSemaphore } from '../../../src/conventions/distributed-lock-zookeeper.ts';
import { hadoopElector } from '../../../src/conventions/hadoop-elector.ts';
import { kazooSemaphore } from '../../../src/conventions/kazoo.ts';
import { sequentialNodes } from '../../../src/conventions/plain-zookeeper.ts';
import { patroniZooKeeper } from '../../../src/conventions/patroni-zookeeper.ts';
import { shedLockZooKeeper } from '../../../src/conventions/shedlock-zookeeper.ts';
import { zookeeperConventions } from '../../../src/conventions/zookeeper-index.ts';
import { valueOf } from '../../../src/domain/known.ts';
import { bytesToText, parseText, type Text } from '../../../src/domain/text.ts';

const noon = Date.parse('2030-01-01T12:00:00Z');

function child(name: string, data: string, czxid: bigint, ephemeralOwner = 7n): ZooKeeperChild {
  return { name: parseText(name), data: parseText(data), czxid, version: 0, ephemeralOwner };
}

function record(
  path: string,
  children: readonly ZooKeeperChild[],
  own: { readonly data?: string; readonly ephemeralOwner?: bigint } = {},
): ZooKeeperRecord {
  return {
    system: 'zookeeper',
    path: parseText(path),
    node: child(
      path.slice(path.lastIndexOf('/') + 1),
      own.data ?? '',
      2n,
      own.ephemeralOwner ?? 0n,
    ),
    cversion: children.length,
    children,
    readAtMs: noon,
  };
}

const guid = (digit: string): string => `_c_${digit.repeat(8)}-2222-4333-8444-555555555555-`;
const hex = (digit: string): string => digit.repeat(32);
const codes = (notes: readonly { readonly code: string }[]): readonly string[] =>
  notes.map(({ code }) => code);

describe('Curator', () => {
  const gate = {
    path: parseText('/sem/locks'),
    children: [
      child(`${guid('4')}lock-0000000008`, '10.0.0.4', 9n),
      child(`${guid('3')}lock-0000000007`, '10.0.0.3', 8n),
    ],
  };

  test('a semaphore is called by its path, its permits hold, and the gate beside them has the waiters in order', () => {
    const permits = [
      child(`${guid('2')}lease-0000000001`, '10.0.0.2', 5n),
      child(`${guid('1')}lease-0000000000`, '10.0.0.1', 4n),
    ];
    const decoded = curatorSemaphore.decode({ ...record('/sem/leases', permits), gate });
    expect(decoded).toMatchObject({ state: 'held', mode: 'semaphore', helpers: ['/sem/locks'] });
    expect(valueOf(decoded.holders)?.map(({ owner }) => owner)).toEqual(['10.0.0.1', '10.0.0.2']);
    expect(decoded.waiters).toMatchObject({ list: [{ owner: '10.0.0.3' }, { owner: '10.0.0.4' }] });
    expect(decoded.weakOwner).toBe(true);
    expect(curatorSemaphore.nameOf?.(parseText('/sem/leases'))).toBe('/sem');
    expect(curatorSemaphore.pathOf?.(parseText('/sem'))).toBe('/sem/leases');
    expect(curatorSemaphore.gate?.semaphoreAt(gate.path)).toBe('/sem/leases');
    expect(curatorSemaphore.gate?.semaphoreAt(parseText('/locks'))).toBeUndefined();
  });

  test('whoever is first at the gate waits with its permit’s node, which is no permit yet', () => {
    const taken = child(`${guid('1')}lease-0000000000`, '10.0.0.1', 4n, 1n);
    const at = { ...gate, children: [child(`${guid('2')}lock-0000000001`, '10.0.0.2', 5n, 2n)] };
    const read = (czxid: bigint, session: bigint) => {
      const early = child(`${guid('2')}lease-0000000001`, '10.0.0.2', czxid, session);
      return curatorSemaphore.decode({ ...record('/sem/leases', [taken, early]), gate: at });
    };
    const waits = read(6n, 2n);
    expect(valueOf(waits.holders)).toMatchObject([{ owner: '10.0.0.1' }]);
    expect(waits.waiters).toMatchObject({
      list: [{ owner: '10.0.0.2', note: `waits with ${guid('2')}lease-0000000001` }],
    });
    expect(waits.notes[0]?.text).toContain('1 permit taken');
    // Of another session, or older than its place at the gate, it is a permit.
    expect(valueOf(read(6n, 3n).holders)).toHaveLength(2);
    expect(valueOf(read(4n, 2n).holders)).toHaveLength(2);
    const alone = child(`${guid('2')}lease-0000000001`, '10.0.0.2', 6n, 2n);
    const granted = curatorSemaphore.decode({ ...record('/sem/leases', [alone]), gate: at });
    expect(valueOf(granted.holders)).toHaveLength(1);
  });

  test('waiters at a gate without any permit taken are orphans', () => {
    const decoded = curatorSemaphore.decode({ ...record('/sem/leases', []), gate });
    expect(decoded.state).toBe('orphan-waiters');
    expect(codes(decoded.notes)).toContain('nobody-holds');
  });

  test('a mutex below the registry of Spring Integration is called after it', () => {
    const holder = [child(`${guid('1')}lock-0000000000`, '10.0.0.1', 4n)];
    const spring = curatorMutex.decode(record('/SpringIntegration-LockRegistry/job', holder));
    expect(spring.title).toBe('Spring Integration lock (Curator mutex)');
    expect(curatorMutex.decode(record('/locks/job', holder)).title).toBeUndefined();
  });

  test('a reader behind the writer of its own session may hold the lock as well, another one not', () => {
    const decoded = curatorReadWriteLock.decode(
      record('/rw', [
        child(`${guid('1')}__WRIT__0000000000`, 'a', 4n, 1n),
        child(`${guid('2')}__READ__0000000001`, 'a', 5n, 1n),
        child(`${guid('3')}__READ__0000000002`, 'b', 6n, 2n),
      ]),
    );
    const notes =
      decoded.waiters.kind === 'exact' ? decoded.waiters.list.map((one) => one.note) : [];
    expect(notes[0]).toContain('may hold it as well');
    expect(notes[1]).toBeUndefined();
  });
});

describe('kazoo', () => {
  test('a semaphore says how many permits there are, and has its waiters at the gate lock', () => {
    const gate = {
      path: parseText('/k/sem-__lock__'),
      children: [child(`${hex('3')}__lock__0000000004`, 'node-3', 9n)],
    };
    const permits = [child(hex('1'), 'node-1', 4n), child(hex('2'), 'node-2', 5n)];
    const decoded = kazooSemaphore.decode({ ...record('/k/sem', permits, { data: '2' }), gate });
    expect(decoded.mode).toBe('semaphore');
    expect(decoded.waiters).toMatchObject({ list: [{ owner: 'node-3' }] });
    expect(decoded.notes[0]?.text).toBe("2 permits taken; there are 2, by the node's data");
    expect(kazooSemaphore.gate?.semaphoreAt(gate.path)).toBe('/k/sem');
    expect(kazooSemaphore.needsData?.(record('/k/sem', permits))).toBe(true);
    expect(kazooSemaphore.matches(record('/k/sem', permits))).toBeUndefined();
  });
});

describe('DistributedLock (.NET)', () => {
  test('who has marked its node holds the semaphore, also behind one that has not', () => {
    const decoded = distributedLockSemaphore.decode(
      record('/s', [
        child('semaphore-0000000001', '', 4n),
        child('semaphore-0000000002', 'ACQUIRED', 5n),
      ]),
    );
    expect(valueOf(decoded.holders)).toMatchObject([{ owner: 'semaphore-0000000002' }]);
    expect(decoded.waiters).toMatchObject({ list: [{ owner: 'semaphore-0000000001' }] });
  });

  test('a bare lock- node has two claims that are equally sure', () => {
    const bare = record('/m', [child('lock-0000000000', '', 4n)]);
    const claims = zookeeperConventions.filter((one) => one.matches(bare) === 'medium');
    expect(claims.map(({ id }) => id)).toEqual(['distributed-lock-mutex', 'bare-lock']);
  });
});

describe('A recipe of unknown making', () => {
  test.each([
    ['n-0000000001', 1],
    ['n_0000000001', 1],
    ['job7-0000000001', 1],
    ['0000000001', 1],
    ['n-1500000000', 1_500_000_000],
    ['n--1500000000', 2_794_967_296],
    ['n--000000001', 4_294_967_295],
    ['n-12345678901', undefined],
    ['n-000001', undefined],
  ])('the name %s ends in the sequence %s', (name, sequence) => {
    expect(sequentialNodes.contender(parseText(name))?.sequence).toBe(sequence);
  });

  test('the first that was made holds, whatever stands before the number', () => {
    const decoded = sequentialNodes.decode(
      record('/locks/a', [child('n-0000000001', 'b', 5n), child('n-0000000000', 'a', 4n)]),
    );
    expect(valueOf(decoded.holders)).toMatchObject([{ owner: 'a' }]);
    expect(codes(decoded.notes)).not.toContain('sequence-wrapped');
  });
});

describe('Hadoop', () => {
  const lock = child('ActiveStandbyElectorLock', 'nn1', 4n);
  const breadcrumb = child('ActiveBreadCrumb', 'nn1', 5n, 0n);

  test('a breadcrumb without the lock node is a crashed active that awaits fencing, and nothing to release', () => {
    const decoded = hadoopElector.decode(record('/hadoop-ha/c1', [breadcrumb]));
    expect(decoded.state).toBe('free');
    expect(valueOf(decoded.holders)).toEqual([]);
    expect(decoded.notes).toMatchObject([{ code: 'awaiting-fencing', severity: 'warn' }]);
    expect(decoded.notes[0]?.text).toContain('nn1');
  });

  test('a breadcrumb of another active is fencing under way; of the same one it is nothing to tell', () => {
    const other = { ...breadcrumb, data: parseText('nn2') };
    expect(codes(hadoopElector.decode(record('/c', [lock, other])).notes)).toEqual([
      'fencing-under-way',
    ]);
    const same = hadoopElector.decode(record('/c', [lock, breadcrumb]));
    expect(same.notes).toEqual([]);
    expect(same.helpers).toEqual(['/c/ActiveBreadCrumb']);
    expect(hadoopElector.contender(breadcrumb.name)).toBeUndefined();
  });
});

describe('ShedLock', () => {
  const shed = (data: string): ReturnType<typeof shedLockZooKeeper.decode> =>
    shedLockZooKeeper.decode(record('/shedlock/nightly', [], { data }));

  test('it is locked until the instant that the node says, by nobody that is known', () => {
    const decoded = shed('2030-01-01T12:05:00.000Z');
    expect(decoded.state).toBe('held');
    expect(decoded.holders.kind).toBe('unknown');
    expect(decoded.lease).toMatchObject({ kind: 'ttl', ttlMs: 300_000 });
  });

  test('a past instant is a free lock', () => {
    expect(shed('2030-01-01T11:59:59Z')).toMatchObject({ state: 'free', holders: { value: [] } });
  });

  test.each(['', 'soon', '2030-99-99T99:99:99Z'])('data "%s" count as locked for ever', (data) => {
    expect(shed(data)).toMatchObject({ state: 'no-ttl', lease: { kind: 'never' } });
    expect(codes(shed(data).notes)).toContain('unreadable-instant');
  });

  test('an instant elsewhere is only a guess, and other data elsewhere nothing', () => {
    const instant = { data: '2030-01-01T11:59:59Z' };
    expect(shedLockZooKeeper.matches(record('/shedlock/a', [], instant))).toBe('high');
    expect(shedLockZooKeeper.matches(record('/jobs/a', [], instant))).toBe('low');
    expect(shedLockZooKeeper.matches(record('/jobs/a', [], { data: 'x' }))).toBeUndefined();
  });
});

describe('Patroni', () => {
  const leader = (path: string): ZooKeeperRecord =>
    record(path, [], { data: 'pg-1', ephemeralOwner: 7n });

  test('its leader node is never released by force; the position that a leader writes is no lock', () => {
    expect(patroniZooKeeper.forbidden).toContain('patronictl');
    expect(patroniZooKeeper.matches(leader('/service/pg/leader'))).toBe('high');
    expect(patroniZooKeeper.matches(leader('/service/pg/optime/leader'))).toBeUndefined();
    expect(patroniZooKeeper.matches(record('/service/pg/leader', []))).toBeUndefined();
    expect(patroniZooKeeper.matches(leader('/app/leader'))).toBe('low');
  });
});

test('no convention throws on arbitrary paths, names and data', () => {
  const text = fc.uint8Array({ maxLength: 60 }).map(bytesToText);
  const part = fc.oneof(text, fc.constantFrom('lock-0000000000', 'leases', hex('a')));
  const name: fc.Arbitrary<Text> = fc.oneof(text, part.map(parseText));
  const children = fc.array(fc.tuple(name, text, fc.bigInt()), { maxLength: 6 });
  fc.assert(
    fc.property(part, children, children, text, ([...path], rows, gate, data) => {
      const nodes = rows.map(([one, value, czxid]) => child(one, value, czxid, czxid));
      const sample: ZooKeeperRecord = {
        ...record(`/${path.join('')}`, nodes, { data }),
        gate: { path: parseText('/g'), children: gate.map(([n, v, z]) => child(n, v, z, z)) },
      };
      for (const convention of zookeeperConventions) {
        convention.matches(sample);
        convention.decode(sample);
        convention.needsData?.(sample);
        convention.nameOf?.(sample.path);
        convention.gate?.semaphoreAt(sample.path);
        for (const { name: one } of nodes) convention.contender(one);
      }
    }),
  );
});
