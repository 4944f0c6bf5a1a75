/** How long the program takes before it does anything, beside a Node that does nothing. */
import { compare, type Bench } from './bench.ts';
import { fencepost, measure, node } from './child.ts';
import { withLab } from './lab.ts';

/** One run takes a tenth of a second: many are needed for a steady median. */
const repeat = 7;

export const startUp: Bench = {
  name: 'start-up',
  about: '--help, --version and ls on an empty Redis, beside node -e 0',
  run: ({ runs, tell }) =>
    withLab('redis', ({ target }) => {
      tell('start-up');
      const subject = (args: readonly string[]): (() => ReturnType<typeof measure>) => {
        return () => measure(fencepost(args));
      };
      return compare(
        'start-up',
        { name: 'node -e 0', measure: () => measure(node(['-e', '0'])) },
        [
          { name: '--help', goal: { ratio: 1.3 }, measure: subject(['--help']) },
          { name: '--version', measure: subject(['--version']) },
          { name: 'ls, empty Redis', measure: subject(['ls', '--target', target]) },
        ],
        { runs: runs * repeat, tell: () => undefined },
      );
    }),
};
