/** How the default worker carries out a business operation: which requests, where it may park. */
import type { Grant } from '../protocols/protocol.ts';
import type { ResourceClient } from '../resources/resource-client.ts';
import { refusals, type ResourceAction, type WriteRequest } from '../resources/resource.ts';
import type { BusinessOp, ParkPoint, ResultMessage } from './worker-protocol.ts';

export type BusinessResult = Pick<
  ResultMessage,
  'outcome' | 'code' | 'detail' | 'accepted' | 'version' | 'replayed'
>;

/**
 * Runs `op` with the token of `grant`. An `effect` is two requests: the invocation is recorded, the
 * irreversible thing happens (here: nothing does), the completion is recorded.
 */
export async function runBusiness(
  op: BusinessOp,
  grant: Grant,
  workerId: string,
  resource: ResourceClient,
  park: (point: ParkPoint) => Promise<void>,
): Promise<BusinessResult> {
  if (op.business !== 'effect') {
    const request = requestOf(op, op.business, grant, workerId);
    if (op.park === 'before-commit') {
      const seen = await resource.read({
        kind: 'read',
        requestId: `${op.id}/read`,
        action: op.business,
        subject: op.subject,
      });
      if (seen.outcome !== 'ok') return { ...seen, outcome: 'fail', code: 'read-failed' };
      await park('before-commit');
    }
    return write(request, resource);
  }
  const begun = await write(requestOf(op, 'begin-effect', grant, workerId), resource);
  if (begun.outcome !== 'ok' || begun.replayed === true) return begun;
  await park('inside-effect');
  const completed = await write(requestOf(op, 'complete-effect', grant, workerId), resource);
  if (completed.outcome === 'ok') return begun;
  // The effect itself has happened, whatever became of the record of its completion.
  const code = `completion-${completed.code ?? 'lost'}`;
  return {
    ...begun,
    code,
    ...(completed.detail === undefined ? {} : { detail: completed.detail }),
  };
}

function requestOf(
  op: BusinessOp,
  action: ResourceAction,
  grant: Grant,
  workerId: string,
): WriteRequest {
  return {
    kind: 'write',
    requestId: `${op.id}/${action}`,
    action,
    subject: op.subject,
    operationId: op.operationId,
    worker: workerId,
    attempt: op.attempt,
    owner: grant.owner,
    fence: grant.fence === undefined ? null : String(grant.fence),
    ...(op.value === undefined ? {} : { value: op.value }),
  };
}

/** Codes besides the refusals that say: nothing was written. */
const definite: readonly string[] = [...refusals, 'sql-error', 'bad-request'];

async function write(request: WriteRequest, resource: ResourceClient): Promise<BusinessResult> {
  const answer = await resource.write(request);
  if (answer.outcome !== 'ok') return answer;
  const { accepted, code, version, replayed, detail } = answer.reply;
  const outcome = accepted ? 'ok' : definite.includes(code) ? 'fail' : 'unknown';
  return {
    outcome,
    code,
    accepted,
    replayed,
    ...(version === null ? {} : { version }),
    ...(detail === undefined ? {} : { detail }),
  };
}
