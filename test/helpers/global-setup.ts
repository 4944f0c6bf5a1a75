/** Builds nothing and starts nothing: checks once that the built program is there for the end-to-end tests. */
import { existsSync } from 'node:fs';

export default function setup(): void {
  const built = new URL('../../dist/cli/main.js', import.meta.url);
  if (!existsSync(built)) throw new Error('dist/ is missing: run `npm run build` (npm test does)');
}
