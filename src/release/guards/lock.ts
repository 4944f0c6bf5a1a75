/** Guards about the record: is it a lock, this very grant, and what else goes with it. */
import { valueOf } from '../../domain/known.ts';
import type { Guard, GuardInput } from '../guard.ts';

/** G4. */
export function formatRecognised({ detail, preview }: GuardInput): Guard {
  const name = 'format-recognised';
  const { recognition } = detail;
  if (!preview.possible.can) {
    const { reason, remedy } = preview.possible;
    const base = { name, level: 'hard', state: 'refused', text: reason } as const;
    return remedy === undefined ? base : { ...base, remedy };
  }
  if (recognition.forced) {
    return { name, level: 'hard', state: 'ok', text: `${recognition.title}, as told` };
  }
  if (recognition.confidence === 'low') {
    const others = recognition.candidates.join(', ');
    return {
      name,
      level: 'soft',
      state: 'refused',
      text: `only guessed to be a ${recognition.title}${others === '' ? '' : ` (could also be ${others})`}`,
      remedy: `name the layout: --convention ${recognition.convention}`,
    };
  }
  return {
    name,
    level: 'hard',
    state: 'ok',
    text: `${recognition.title}, ${recognition.confidence} confidence`,
  };
}

/** G5. Compared here, and again by the server in the step that deletes. */
export function sameGrant({ detail, request }: GuardInput): Guard {
  const base = { name: 'same-grant', level: 'hard' } as const;
  const seen = detail.identity?.expect;
  if (seen === undefined) {
    return { ...base, state: 'refused', text: 'the record shows no grant that could be compared' };
  }
  if (request.expect === undefined) {
    return request.interactive
      ? { ...base, state: 'ok', text: `the grant of this plan, ${seen}` }
      : {
          ...base,
          state: 'refused',
          consent: true,
          text: 'without a terminal the grant must be named',
          remedy: `look at it first, then add --expect ${seen}`,
        };
  }
  return request.expect === seen
    ? { ...base, state: 'ok', text: 'same grant as seen' }
    : { ...base, state: 'refused', text: `the lock changed: ${request.expect} is now ${seen}` };
}

/** G6. */
export function ownerDistinct({ detail }: GuardInput): Guard {
  const base = { name: 'owner-distinct', level: 'soft' } as const;
  const weak = detail.notes.find((note) => note.code === 'weak-owner');
  return weak === undefined
    ? { ...base, state: 'ok', text: 'the owner value tells holders apart' }
    : {
        ...base,
        state: 'refused',
        text: weak.text,
        remedy: 'make sure that the holder you mean is the one that holds it now',
      };
}

/** G11. */
export function blastRadius({ preview }: GuardInput): Guard {
  const base = { name: 'blast-radius', level: 'soft' } as const;
  const falls = preview.alsoFalls;
  if (falls.kind === 'unknown') {
    return { ...base, state: 'unknown', text: `what else falls is unknown: ${falls.reason}` };
  }
  return falls.value.length === 0
    ? { ...base, state: 'ok', text: 'nothing else falls with it' }
    : {
        ...base,
        state: 'refused',
        text: `with it ${falls.value.length === 1 ? 'falls another record' : `fall ${falls.value.length} others`}: ${falls.value.slice(0, 3).join(', ')}`,
        remedy: 'make sure that nobody needs what falls',
      };
}

/** G12. */
export function singleHold({ detail }: GuardInput): Guard {
  const base = { name: 'single-hold', level: 'soft' } as const;
  const { holder } = detail.ref;
  const all = valueOf(detail.holders) ?? [];
  const holders = holder === undefined ? all : all.filter((one) => one.owner === holder);
  const holds = holders.reduce((sum, one) => sum + one.holds, 0);
  if (holders.length > 1 && detail.mode !== 'exclusive') {
    return {
      ...base,
      state: 'refused',
      text: `${holders.length} holders share it (${detail.mode})`,
      remedy: 'check which one the plan would remove',
    };
  }
  return holds > 1
    ? {
        ...base,
        state: 'refused',
        text: `its holder took it ${holds} times: all of them go, not one hold`,
        remedy: 'make sure that no outer section still relies on it',
      }
    : { ...base, state: 'ok', text: onceWords(all.length - holders.length) };
}

function onceWords(others: number): string {
  if (others === 0) return 'held once, by one holder';
  return `the holder named has it once; ${others} other${others === 1 ? ' stays' : 's stay'}`;
}

/** G13. */
export function nextInLine({ preview, detail, request, holdPossible }: GuardInput): Guard {
  const base = { name: 'next-in-line', level: 'info' } as const;
  const { next } = preview;
  if (request.holdMs !== undefined) {
    const out = detail.waiters.kind === 'exact' ? ` (${detail.waiters.list.length} waiting)` : '';
    return { ...base, state: 'ok', text: `your hold keeps the queue out${out}` };
  }
  if (next.kind === 'unknown') return { ...base, state: 'unknown', text: next.reason };
  if (next.value === 'nobody') return { ...base, state: 'ok', text: 'nobody is known to wait' };
  const who = next.value.owner ?? next.value.record ?? 'the first waiter';
  const count = detail.waiters.kind === 'exact' ? detail.waiters.list.length : 1;
  return {
    ...base,
    state: 'warn',
    text: `${who} gets it at once (${count} waiting)${holdPossible ? '; --hold 10m keeps the queue out' : ''}`,
  };
}
