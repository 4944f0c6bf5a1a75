import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { removeLabFolder } from '../../../src/lab/folders.ts';
import {
  adoptedProcesses,
  adoptProcess,
  isAbandoned,
  listRecords,
  recordFile,
  writeRecord,
  type LabRecord,
} from '../../../src/lab/records.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fencepost-records-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const record: LabRecord = {
  schemaVersion: 1,
  id: 'redis-000001',
  spec: { system: 'redis', members: 1, tls: false, options: {} },
  target: 'redis://127.0.0.1:12345',
  folder: '/nowhere/fencepost-lab-x',
  startedAt: '2026-01-01T00:00:00.000Z',
  ports: [12_345],
  servers: [],
};

describe('records of labs', () => {
  test('are listed oldest first; files that are no records are passed over', () => {
    const env = { XDG_STATE_HOME: folder };
    const older = { ...record, id: 'etcd-000002', startedAt: '2025-01-01T00:00:00.000Z' };
    writeRecord(recordFile(env, record.id), record);
    writeRecord(recordFile(env, older.id), older);
    writeFileSync(recordFile(env, 'broken'), '{"schemaVersion":1,');
    writeFileSync(recordFile(env, 'newer'), '{"schemaVersion":2}');
    expect(listRecords(env).map(({ id }) => id)).toEqual([older.id, record.id]);
  });

  test('adopted processes are read back; a line cut by a crash is left out', () => {
    adoptProcess(folder, { pid: 41, startTime: '1200' });
    adoptProcess(folder, { pid: 42, startTime: 'Wed Dec  2 04:29:00 2026' });
    appendFileSync(join(folder, 'processes'), '43 12');
    expect(adoptedProcesses(folder)).toEqual([
      { pid: 41, startTime: '1200' },
      { pid: 42, startTime: 'Wed Dec  2 04:29:00 2026' },
    ]);
  });

  describe('a lab that is being started', () => {
    const ended = { pid: 4_194_303, startTime: '1' };
    const starting = { ...record, starting: ended };
    const file = (): string => recordFile({ XDG_STATE_HOME: folder }, record.id);

    test('is abandoned once its starter was killed', async () => {
      writeRecord(file(), starting);
      expect(await isAbandoned(file(), starting)).toBe(true);
    });

    test('is kept when its starter finished and ended after the record was read', async () => {
      writeRecord(file(), record);
      expect(await isAbandoned(file(), starting)).toBe(false);
    });

    test('is left to whoever removed its record meanwhile', async () => {
      expect(await isAbandoned(file(), starting)).toBe(false);
    });
  });

  test('a folder that is not a lab is never removed', () => {
    expect(() => {
      removeLabFolder(folder);
    }).toThrow(/is not the folder of a lab/);
  });
});
