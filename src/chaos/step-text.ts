/** Steps in words, for plans, progress and timelines. */
import type { Step } from '../domain/scenario.ts';

const verbs: Readonly<Record<string, string>> = {
  acquire: 'acquires',
  renew: 'renews',
  confirm: 'confirms',
  release: 'releases',
  'close-order': 'closes',
  'pay-order': 'pays',
  'release-stock': 'releases stock',
  write: 'writes',
  effect: 'performs',
  'claim-task': 'claims',
  checkpoint: 'checkpoints',
};

/** `A closes o-42, parked before-send`. */
export function stepText(step: Step): string {
  switch (step.kind) {
    case 'wait':
      return waitText(step);
    case 'fault':
      return faultText(step);
    case 'end-fault':
      return step.worker === undefined ? `end of ${step.fault}` : `${step.worker} resumed`;
    case 'go':
      return `${step.worker} goes on`;
    case 'business':
      return `${doing(step.worker, step.action)} ${step.subject}${parkText(step.park)}`;
    case 'acquire':
    case 'renew':
    case 'confirm':
    case 'release':
      return doing(step.worker, step.kind) + parkText(step.park);
  }
}

/** `A CUT way to-server`. */
function faultText({ worker = '', fault, options }: Step & { kind: 'fault' }): string {
  const given = Object.entries(options).map(([name, value]) => ` ${name} ${String(value)}`);
  return `${worker} ${fault.toUpperCase()}${given.join('')}`.trim();
}

function doing(worker: string, action: string): string {
  return `${worker} ${verbs[action] ?? action}`;
}

function waitText({ until, worker = '' }: Step & { kind: 'wait' }): string {
  if (until === 'absent') return 'lock absent';
  return until === 'held-by' ? `lock held by ${worker}` : `lock not held by ${worker}`;
}

function parkText(park: string | undefined): string {
  return park === undefined ? '' : `, parked ${park}`;
}
