/** Semaphores: whoever wants a permit takes another lock first, the gate. Its contenders are the waiters. */
import type { ZooKeeperConvention, ZooKeeperRecord } from '../../conventions/convention.ts';
import { isNodeError, isRefused, zooKeeperCodes } from '../../clients/zookeeper/errors.ts';
import type { Session } from '../../clients/zookeeper/session.ts';
import type { Text } from '../../domain/text.ts';
import { recognise, type ZooKeeperConventions } from './recognise.ts';
import { bareRecord, rawPath, readRecord } from './records.ts';

/** The record with the contenders of its gate; as it is where there is none, or it may not be read. */
export async function withGate(
  session: Session,
  record: ZooKeeperRecord,
  { gate }: ZooKeeperConvention,
): Promise<ZooKeeperRecord> {
  if (gate === undefined) return record;
  const path = gate.pathFor(record.path);
  try {
    const read = await readRecord(session, rawPath(path));
    return { ...record, gate: { path, children: read?.record.children ?? [] } };
  } catch (error) {
    if (isRefused(error)) return record;
    throw error;
  }
}

/** The same by names alone, for counting. */
export async function withGateNames(
  session: Session,
  record: ZooKeeperRecord,
  { gate }: ZooKeeperConvention,
): Promise<ZooKeeperRecord> {
  if (gate === undefined) return record;
  const path = gate.pathFor(record.path);
  const names = await namesAt(session, rawPath(path));
  if (names === 'refused') return record;
  return { ...record, gate: { path, children: names?.children ?? [] } };
}

/** Whether this lock only is the gate of a semaphore that is there: then it is told with that one. */
export async function isGate(
  session: Session,
  path: Text,
  conventions: ZooKeeperConventions,
): Promise<boolean> {
  for (const { id, gate } of conventions.all) {
    const at = gate?.semaphoreAt(path);
    if (at === undefined) continue;
    const names = await namesAt(session, rawPath(at));
    if (names === 'refused' || names === undefined) continue;
    if (recognise(names, conventions, [id]) !== undefined) return true;
  }
  return false;
}

/** The node's own data, and its children by name. */
export async function namesAt(
  session: Session,
  path: string,
): Promise<ZooKeeperRecord | 'refused' | undefined> {
  try {
    const [{ children }, own] = await Promise.all([
      session.getChildren(path),
      session.getData(path),
    ]);
    return bareRecord(path, children, own);
  } catch (error) {
    if (isRefused(error)) return 'refused';
    if (isNodeError(error, zooKeeperCodes.noNode)) return undefined;
    throw error;
  }
}
