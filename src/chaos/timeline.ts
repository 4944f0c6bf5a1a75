/** The run in order, one line a step, for people. Pure. */
import type { FaultReport, StepReport, TimelineEntry } from '../domain/run-report.ts';

export function timelineOf(
  steps: readonly StepReport[],
  faults: readonly FaultReport[],
): readonly TimelineEntry[] {
  return steps
    .filter(({ status }) => status !== 'not-reached')
    .map((step) =>
      entryOf(
        step,
        faults.find(({ id }) => id === step.id),
      ),
    );
}

function entryOf(step: StepReport, fault: FaultReport | undefined): TimelineEntry {
  const atMs = step.atMs ?? 0;
  if (step.status !== 'done') return { atMs, text: step.text, result: step.note, tone: 'bad' };
  if (fault === undefined) {
    const refused = /^(stale|not-owner|busy|token|fence-fault|wrong-state)/.test(step.note);
    return { atMs, text: step.text, result: step.note, tone: refused ? 'refused' : 'plain' };
  }
  const lastedMs = (fault.endedAtMs ?? fault.beganAtMs) - fault.beganAtMs;
  const lasted = lastedMs > 0 ? `, ${(lastedMs / 1000).toFixed(1)} s` : '';
  // A fault that waits for its moment has nothing to show at its begin.
  const shown = step.note === '' ? fault.evidence.map(({ fact }) => fact).join(', ') : step.note;
  return { atMs, text: step.text, result: shown + lasted, tone: 'fault' };
}
