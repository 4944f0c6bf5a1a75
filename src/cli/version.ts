/** The version of this program, from its package. */
import { readFileSync } from 'node:fs';
import { InternalError } from '../domain/errors.ts';

export function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed === 'object' && parsed !== null && 'version' in parsed) {
    return String(parsed.version);
  }
  throw new InternalError('package.json has no version', { code: 'no-version' });
}
