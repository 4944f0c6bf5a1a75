import { describe, expect, test } from 'vitest';
import { known, unknown } from '../../../src/domain/known.ts';
import { stringToText } from '../../../src/domain/text.ts';
import { blocks, type Guard } from '../../../src/release/guard.ts';
import { judgeGuards, overridable } from '../../../src/release/guards/all.ts';
import { evidence, guardInput, owner, sample, type InputChange } from './guard-input.ts';

const no = { can: false, reason: 'not here', remedy: 'ask' } as const;
const holder = { owner, place: unknown('a random token'), holds: 1 };

function judged(change: InputChange, name: string): Pick<Guard, 'level' | 'state'> {
  const guard = judgeGuards(guardInput(change)).find((one) => one.name === name);
  if (guard === undefined) throw new Error(`there is no guard ${name}`);
  return { level: guard.level, state: guard.state };
}

const fenceFloor = stringToText('fences/eod');

/** A floor that the target itself would write. */
function floorAt(key: string): InputChange {
  const record = stringToText(key);
  return {
    request: { fenceFloor: record },
    preview: { fenceFloor: { can: true, record, atLeast: 8n } },
  };
}

/** What makes each guard refuse: the fact, the level and the state. */
const refusals: readonly (readonly [string, Guard['level'], Guard['state'], InputChange])[] = [
  ['right-cluster', 'soft', 'unknown', { probe: { clusterId: unknown('INFO was refused') } }],
  ['writable-side', 'hard', 'refused', { probe: { writable: no } }],
  [
    'writable-side',
    'hard',
    'refused',
    {
      detail: {
        server: {
          endpoint: 'b:1',
          role: known('replica'),
          replicaOf: {
            primary: 'a:1',
            link: 'up',
            lastHeardS: known(0),
            lagBytes: known(0),
          },
        },
      },
    },
  ],
  [
    'writable-side',
    'soft',
    'unknown',
    { probe: { server: { endpoint: 'a:1', role: unknown('refused') } } },
  ],
  ['cluster-healthy', 'soft', 'refused', { probe: { healthy: known(no) } }],
  ['cluster-healthy', 'soft', 'unknown', { probe: { healthy: unknown('INFO was refused') } }],
  [
    'account-may-release',
    'hard',
    'refused',
    { probe: { capabilities: { ...guardInput().probe.capabilities, release: no } } },
  ],
  [
    'account-may-release',
    'hard',
    'refused',
    {
      request: { holdMs: 60_000 },
      probe: { capabilities: { ...guardInput().probe.capabilities, hold: no } },
    },
  ],
  ['format-recognised', 'hard', 'refused', { preview: { possible: no } }],
  [
    'format-recognised',
    'soft',
    'refused',
    { detail: { recognition: { ...guardInput().detail.recognition, confidence: 'low' } } },
  ],
  ['same-grant', 'hard', 'refused', { request: { expect: undefined } }],
  ['same-grant', 'hard', 'refused', { request: { expect: 'r1.00000000' } }],
  ['same-grant', 'hard', 'refused', { detail: { identity: undefined } }],
  [
    'owner-distinct',
    'soft',
    'refused',
    { detail: { notes: [{ code: 'weak-owner', severity: 'warn', text: 'constant' }] } },
  ],
  [
    'expires-soon',
    'soft',
    'refused',
    { detail: { lease: { kind: 'ttl', ttlMs: 10_000, grantedMs: known(30_000) } } },
  ],
  ['expires-soon', 'soft', 'unknown', { detail: { lease: { kind: 'unknown', reason: 'why' } } }],
  ['no-renewal', 'soft', 'refused', { sample: sample({ outcome: 'renewed' }) }],
  ['no-renewal', 'soft', 'unknown', { sample: sample({ windowMs: 19_000 }) }],
  ['no-renewal', 'soft', 'unknown', { sample: sample({ outcome: 'discarded' }) }],
  ['no-renewal', 'soft', 'unknown', { sample: 'none' }],
  [
    'owner-connection',
    'soft',
    'refused',
    { detail: { evidence: [evidence({}), evidence({ points: 'likely-alive' })] } },
  ],
  [
    'owner-connection',
    'soft',
    'unknown',
    { detail: { evidence: [evidence({ points: 'none', finding: unknown('refused') })] } },
  ],
  ['owner-connection', 'soft', 'unknown', { detail: { evidence: [] } }],
  [
    'owner-connection',
    'soft',
    'unknown',
    { detail: { evidence: [evidence({ name: 'idle-time', points: 'likely-dead' })] } },
  ],
  ['blast-radius', 'soft', 'refused', { preview: { alsoFalls: known([stringToText('k')]) } }],
  ['blast-radius', 'soft', 'unknown', { preview: { alsoFalls: unknown('no permission') } }],
  ['session-may-hold-newer-grant', 'soft', 'refused', { request: { endSession: true } }],
  ['single-hold', 'soft', 'refused', { detail: { holders: known([{ ...holder, holds: 2 }]) } }],
  [
    'single-hold',
    'soft',
    'refused',
    { detail: { mode: 'shared', holders: known([holder, holder]) } },
  ],
  ['fence', 'hard', 'refused', { request: { fenceFloor } }],
  ['fence', 'hard', 'refused', { request: { fenceFloor }, preview: { fenceFloor: no } }],
  ['fence', 'hard', 'refused', floorAt('lock:eod')],
  ['fence', 'hard', 'refused', floorAt('lock:eod/floor')],
  ['notify', 'hard', 'refused', { request: { notify: './told' } }],
  [
    'notify',
    'hard',
    'refused',
    { request: { notify: './told' }, detail: { fence: { kind: 'unknown', reason: 'no number' } } },
  ],
  ['not-many', 'soft', 'refused', { recentReleases: 5 }],
  ['not-again', 'soft', 'refused', { lastReleaseAgoMs: 599_000 }],
  ['name-confirmed', 'hard', 'refused', { request: { confirm: undefined } }],
  ['name-confirmed', 'hard', 'refused', { request: { confirm: 'lock:eo', interactive: true } }],
  ['audit-record', 'hard', 'refused', { auditProblem: 'EACCES' }],
];

describe('guards', () => {
  test('nothing stands in the way of a blameless release', () => {
    expect(judgeGuards(guardInput()).filter(blocks)).toEqual([]);
  });

  test.each(refusals)('%s is %s and %s when it must not pass', (name, level, state, change) => {
    expect(judged(change, name)).toEqual({ level, state });
  });

  test('each fact that refuses is told by its own guard and no other', () => {
    for (const [name, , , change] of refusals) {
      const names = judgeGuards(guardInput(change))
        .filter(blocks)
        .map((guard) => guard.name);
      expect(names).toEqual([name]);
    }
  });

  test('what a reason may override is exactly what can be soft', () => {
    const soft = refusals.filter(([, level]) => level === 'soft').map(([name]) => name);
    expect(new Set(soft)).toEqual(new Set(overridable));
  });

  test('a lease that is renewed is not about to end, however little is left', () => {
    const lease = { kind: 'ttl', ttlMs: 5_000, grantedMs: known(30_000) } as const;
    const change = { detail: { lease }, sample: sample({ outcome: 'renewed' }) };
    expect(judged(change, 'expires-soon').state).toBe('ok');
  });

  test('what is left of a lease is what the last look saw', () => {
    const observations = [{ atMs: 0, ttlMs: 9_000, incarnation: 'a', epoch: 'e' }];
    const change = { sample: sample({ observations }) };
    expect(judged(change, 'expires-soon')).toEqual({ level: 'soft', state: 'refused' });
  });

  test('a lock without a lease is never renewed: that proves nothing and refuses nothing', () => {
    const change = { sample: sample({ outcome: 'not-applicable' }) };
    expect(judged(change, 'no-renewal')).toEqual({ level: 'soft', state: 'warn' });
  });

  test('a floor beside the lock stands in the way of nothing, and its value is told', () => {
    const guards = judgeGuards(guardInput(floorAt('fences/eod')));
    expect(guards.filter(blocks)).toEqual([]);
    const told = guards.find((guard) => guard.name === 'fence');
    expect(told?.text).toContain('floor fences/eod will be 8 or more');
  });

  test('a plan without a terminal lacks no consent yet, but must name its grant', () => {
    const plan = { execute: false, confirm: undefined };
    expect(judged({ request: plan }, 'name-confirmed').state).toBe('warn');
    expect(judged({ request: { ...plan, expect: undefined } }, 'same-grant').state).toBe('refused');
  });

  test('on a terminal the plan itself names the grant', () => {
    const request = { interactive: true, expect: undefined, confirm: undefined };
    expect(judgeGuards(guardInput({ request })).filter(blocks)).toEqual([]);
  });
});
