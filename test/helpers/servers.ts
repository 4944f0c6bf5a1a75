/** Real servers for tests: started before the tests of a file (or describe), removed after them. */
import { afterAll, beforeAll } from 'vitest';
import type { Lab, LabSpec } from '../../src/lab/lab.ts';
import { defaultMembers } from '../../src/lab/lab-spec.ts';
import { startLab } from '../../src/lab/start-lab.ts';

export interface LabHandle {
  /** The running lab. Only inside tests and hooks. */
  readonly lab: Lab;
  /** Its target URL. Only inside tests and hooks. */
  readonly target: string;
}

/** Fills in what most tests do not care about: the usual number of members, no TLS, no options. */
export function labSpec(spec: Pick<LabSpec, 'system'> & Partial<LabSpec>): LabSpec {
  return { members: defaultMembers(spec.system), tls: false, options: {}, ...spec };
}

/** Registers hooks that start and stop a lab around the tests of the enclosing file or describe. */
export function useLab(spec: Pick<LabSpec, 'system'> & Partial<LabSpec>): LabHandle {
  let running: Lab | undefined;
  beforeAll(async () => {
    running = await startLab(labSpec(spec));
  });
  afterAll(async () => {
    await running?.stop();
  });
  const lab = (): Lab => {
    if (running === undefined) throw new Error('the lab runs only inside tests and hooks');
    return running;
  };
  return {
    get lab() {
      return lab();
    },
    get target() {
      return lab().target;
    },
  };
}
