/** What the audit reads of real etcd clusters: each check that a lab can be made to pass and to fail. */
import type { Etcd3 } from 'etcd3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checksOf } from '../../../src/audit/registry.ts';
import { auditTarget } from '../../../src/audit/run-audit.ts';
import type { AuditReport, Judgement } from '../../../src/domain/audit-report.ts';
import { useLab } from '../../helpers/servers.ts';
import { until } from '../../helpers/until.ts';
import { forever } from '../backend/subject.ts';
import { addUser, enableUsers, grantLease, openTarget, rawEtcd } from './etcd-seeder.ts';

const three = useLab({ system: 'etcd', members: 3 });
/** So small that a few writes fill it. */
const tiny = useLab({ system: 'etcd', options: { 'quota-backend-bytes': '24000' } });
let raw: Etcd3;

beforeAll(() => {
  raw = rawEtcd(three.target);
});
afterAll(() => {
  raw.close();
});

async function audit(url: string): Promise<AuditReport> {
  const backend = await openTarget(url);
  try {
    const plan = {
      checks: checksOf('etcd'),
      failOn: 'low',
      allowUnknown: new Set<string>(),
      limits: { leaseMs: 10_000 },
    } as const;
    return await auditTarget(backend, plan, forever);
  } finally {
    await backend.close();
  }
}

async function judgements(url: string): Promise<ReadonlyMap<string, Judgement>> {
  const { results } = await audit(url);
  return new Map(results.map(({ id, judgement }) => [id, judgement]));
}

const statesOf = (found: ReadonlyMap<string, Judgement>, ids: readonly string[]) =>
  Object.fromEntries(ids.map((id) => [id, found.get(id)?.state]));

const put = (key: string, lease: string) =>
  raw.kv.put({ key: Buffer.from(key), value: Buffer.from('host-1'), lease });

/** A member that lags behind on a busy machine has not heard of the lease yet. */
async function everywhere(lease: string): Promise<boolean> {
  const members = three.lab.servers.map(({ port }) => rawEtcd(`etcd://127.0.0.1:${port}`));
  try {
    const lists = await Promise.all(members.map((member) => member.leaseClient.leaseLeases()));
    return lists.every(({ leases }) => leases.some(({ ID }) => ID === lease));
  } finally {
    for (const member of members) member.close();
  }
}

describe('an audit of etcd', () => {
  test('passes three members that are well, and their locks on leases of their own', async () => {
    const lease = await grantLease(raw, 60 * 4);
    await put('/locks/a/1', lease);
    await until('every member knows the lease', () => everywhere(lease));
    const found = await judgements(three.target);
    const well = ['E01', 'E02', 'E05', 'E06', 'E07', 'E08', 'E09', 'E10', 'E13', 'E15'];
    expect(statesOf(found, well)).toEqual(Object.fromEntries(well.map((id) => [id, 'pass'])));
    // Of the disk and of elections only a busy machine knows; they were told, at least.
    for (const id of ['E03', 'E04', 'E14']) expect(found.get(id)?.state).not.toBe('unknown');
    expect(statesOf(found, ['E11', 'E12', 'X03'])).toEqual({
      E11: 'fail',
      E12: 'not-applicable',
      X03: 'fail',
    });
  });

  test('asked through one member it does not pass what is about all', async () => {
    const [first = ''] = three.target.split(',');
    const found = await judgements(first);
    expect(statesOf(found, ['E02', 'E10'])).toEqual({ E02: 'unknown', E10: 'unknown' });
  });

  test('fails locks without a lease, with a short one, and on one lease with others', async () => {
    const shared = await grantLease(raw, 30);
    await put('/locks/immortal/1', '0');
    await put('/locks/short/1', await grantLease(raw, 3));
    await put('/locks/b/1', shared);
    await put('/locks/c/1', shared);
    const found = await judgements(three.target);
    const bad = { E07: 'fail', E08: 'fail', E09: 'fail' };
    expect(statesOf(found, Object.keys(bad))).toEqual(bad);
    await raw.kv.deleteRange({ key: Buffer.from('/'), range_end: Buffer.from('0') });
  });

  test('fails a cluster that has compacted all of its history', async () => {
    const { header } = await put('/other', '0');
    await raw.kv.compact({ revision: header.revision, physical: true });
    expect((await judgements(three.target)).get('E15')?.state).toBe('fail');
  });

  test('fails one member alone, its full database and its alarm', async () => {
    const full = rawEtcd(tiny.target);
    const filler = { key: Buffer.from('/filler'), value: Buffer.alloc(8000) };
    await until('the alarm is raised', () =>
      full.kv.put(filler).then(
        () => false,
        (error: unknown) => String(error).includes('space exceeded'),
      ),
    );
    full.close();
    const found = await judgements(tiny.target);
    const bad = { E01: 'fail', E05: 'fail', E06: 'fail' };
    expect(statesOf(found, Object.keys(bad))).toEqual(bad);
    expect(found.get('E10')?.state).toBe('not-applicable');
  });
});

describe('with users', () => {
  const as = (user: string) => three.target.replace('etcd://', `etcd://${user}:pw@`);

  test('tells who may write, to each as much as their role allows', async () => {
    const every = { key: Buffer.of(0), range_end: Buffer.of(0) };
    await addUser(raw, { name: 'reader', password: 'pw' }, { permType: 'Read', ...every });
    await addUser(raw, { name: 'app', password: 'pw' }, { permType: 'Readwrite', ...every });
    await enableUsers(raw, 'pw');
    const reader = await judgements(as('reader'));
    expect(statesOf(reader, ['X03', 'E12'])).toEqual({ X03: 'pass', E12: 'unknown' });
    expect((await judgements(as('app'))).get('X03')?.state).toBe('fail');
    const root = await judgements(as('root'));
    expect(root.get('E12')).toMatchObject({ state: 'fail', found: 'app may write every key' });
    const rooted = rawEtcd(as('root'));
    await rooted.auth.roleRevokePermission({ role: 'app', ...every });
    rooted.close();
    expect((await judgements(as('root'))).get('E12')?.state).toBe('pass');
  });
});
