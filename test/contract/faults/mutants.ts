/** Faults with broken injectors: what each does wrong is its name. */
import { rmSync, writeFileSync } from 'node:fs';
import { createCut, type Cutter } from '../../../src/chaos/faults/cut.ts';
import { createDelay, type Delayer } from '../../../src/chaos/faults/delay.ts';
import type { Fault } from '../../../src/chaos/faults/fault.ts';
import { createStarve, type Starver } from '../../../src/chaos/faults/starve.ts';
import type { FaultFacts } from '../fault.contract.ts';

const halfMs = 400;
const nothing = (): void => undefined;

/** They prove nothing: waiting longer would not help. */
const impatient = { beginMs: 700, healMs: 1500 };
const badStarve = (broken: Partial<Starver>): Fault => createStarve(broken, impatient.beginMs);
const badDelay = (broken: Delayer): Fault => createDelay(broken, impatient);
const badCut = (broken: Partial<Cutter>): Fault => createCut(broken, impatient);

export const starveMutants: FaultFacts['mutants'] = {
  'does nothing': badStarve({ begin: nothing }),
  'starves it half the time': badStarve({
    begin(worker, file, atMostMs) {
      writeFileSync(file, '');
      worker.starve(file, atMostMs);
      setTimeout(() => {
        rmSync(file);
      }, halfMs);
    },
  }),
  'stops the process instead': badStarve({
    begin: (worker) => void worker.signal('SIGSTOP'),
    end: nothing,
  }),
  'never lets it go': badStarve({ end: nothing }),
};

export const oneWayMutants: FaultFacts['mutants'] = {
  'does nothing': badCut({ cut: nothing }),
  'cuts half the time': badCut({
    cut(proxy, way) {
      proxy.cut(way);
      setTimeout(() => {
        proxy.heal();
      }, halfMs);
    },
  }),
  'never heals': badCut({ heal: nothing }),
  'cuts both ways': badCut({
    cut(proxy) {
      proxy.cut('both');
    },
  }),
  'cuts the other way': badCut({
    cut(proxy, way) {
      proxy.cut(way === 'to-server' ? 'to-worker' : 'to-server');
    },
  }),
};

export const delayMutants: FaultFacts['mutants'] = {
  'does nothing': badDelay(nothing),
  'delays half the time': badDelay((proxy, way, delayMs) => {
    proxy.delay(way, delayMs);
    setTimeout(() => {
      proxy.delay(way, 0);
    }, halfMs / 2);
  }),
  'never ends': badDelay((proxy, way, delayMs) => {
    if (delayMs > 0) proxy.delay(way, delayMs);
  }),
  'delays both ways': badDelay((proxy, _, delayMs) => {
    for (const way of ['to-server', 'to-worker'] as const) proxy.delay(way, delayMs);
  }),
  'delays the other way': badDelay((proxy, way, delayMs) => {
    proxy.delay(way === 'to-server' ? 'to-worker' : 'to-server', delayMs);
  }),
};
