/** The URL of the user's own database for the business side; without its password it may be shown. */
import { UsageError } from '../domain/errors.ts';
import { redactUrl } from '../domain/target.ts';

/**
 * Refuses what is no PostgreSQL URL.
 * @throws {UsageError} `bad-resource`; a password is never in the message
 */
export function checkResourceUrl(url: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === 'postgres:' || parsed?.protocol === 'postgresql:') return;
  throw new UsageError(`"${redactUrl(url)}" is not the URL of a PostgreSQL database`, {
    code: 'bad-resource',
    hint: 'write postgres://user@host:5432/database; in a user name or password write / ? # @ % as %2F %3F %23 %40 %25',
    definite: true,
  });
}

const secretParameters = ['password', 'sslpassword'];

/** The URL without its password. It can be connected with where PGPASSWORD or ~/.pgpass has that. */
export function withoutPassword(url: string): string {
  const parsed = new URL(url);
  parsed.password = '';
  for (const name of secretParameters) parsed.searchParams.delete(name);
  return parsed.href;
}
