/** Driver of a target that the user named: its servers are never touched, only workers are. */
import type { Target } from '../../domain/target.ts';
import type { Driver } from './driver.ts';

export function liveDriver(target: Target): Driver {
  return {
    open: () =>
      Promise.resolve({
        target,
        throwaway: false,
        logs: [],
        // Their undo is in the journal, and the watchdog reads it.
        adopt: () => undefined,
        close: () => Promise.resolve(),
      }),
  };
}
