/** The business steps themselves, as plain SQL on an admitted request. */
import type { SqlSession } from './database.ts';
import type { WriteRequest } from './resource.ts';

const defaultTaskLeaseMs = 30_000;

/** Applies the step of `request`; `seq` is its ledger number. */
export async function applyStep(
  session: SqlSession,
  request: WriteRequest,
  seq: bigint,
): Promise<void> {
  const { action, subject, operationId, owner, value = null } = request;
  const fence = request.fence === null ? null : BigInt(request.fence);
  switch (action) {
    case 'close-order':
    case 'pay-order':
      await session.all('UPDATE orders SET status = ? WHERE id = ?', [
        action === 'close-order' ? 'closed' : 'paid',
        subject,
      ]);
      return;
    case 'release-stock':
      await session.all('UPDATE stock SET available = available + 1 WHERE id = ?', [subject]);
      await session.all(
        'INSERT INTO stock_releases (seq, operation_id, sku, fence, owner) VALUES (?, ?, ?, ?, ?)',
        [seq, operationId, subject, fence, owner],
      );
      return;
    case 'write':
      await session.all('UPDATE registers SET value = ? WHERE id = ?', [value, subject]);
      return;
    case 'begin-effect':
      await session.all(
        `INSERT INTO effects (operation_id, subject, attempt, fence, owner, invoked_seq)
          VALUES (?, ?, ?, ?, ?, ?)`,
        [operationId, subject, BigInt(request.attempt), fence, owner, seq],
      );
      return;
    case 'complete-effect':
      await session.all(
        `UPDATE effects SET completed_seq = ?
          WHERE operation_id = ? AND owner = ? AND completed_seq IS NULL`,
        [seq, operationId, owner],
      );
      return;
    case 'claim-task':
      await session.all('UPDATE tasks SET attempt = attempt + 1, lease_until = ? WHERE id = ?', [
        BigInt(Date.now() + leaseMsOf(value)),
        subject,
      ]);
      return;
    case 'checkpoint':
      await session.all('UPDATE tasks SET checkpoint = ? WHERE id = ?', [value, subject]);
      return;
  }
}

/** `claim-task` carries the lease of the task in ms as its value. */
function leaseMsOf(value: string | null): number {
  return value !== null && /^\d{1,9}$/.test(value) ? Number(value) : defaultTaskLeaseMs;
}
