/** One command of ZooKeeper's AdminServer over HTTP, with 64-bit numbers kept whole. */
import { known, unknown, type Known } from '../../domain/known.ts';
import type { Target } from '../../domain/target.ts';
import { stringToText } from '../../domain/text.ts';
import { httpGet } from '../http-get.ts';

const defaultPort = 8080;
const maxBodyBytes = 64 * 1024 * 1024;

/** The JSON object of `/commands/<name>` on member `index`, or why there is none. */
export async function askAdminServer(
  target: Target,
  index: number,
  command: string,
  timeoutMs: number,
): Promise<Known<Readonly<Record<string, unknown>>>> {
  const host = target.endpoints[index]?.host ?? '';
  const port = target.adminPorts[index] ?? target.adminPorts[0] ?? defaultPort;
  try {
    const body = await httpGet({ host, port }, `/commands/${command}`, { timeoutMs, maxBodyBytes });
    const parsed = parseWithBigNumbers(body);
    if (typeof parsed !== 'object' || parsed === null) throw new Error('not a JSON object');
    const fields = Object.fromEntries(Object.entries(parsed));
    // A command that failed answers with HTTP 200, too.
    if (typeof fields['error'] === 'string') throw new Error(stringToText(fields['error']));
    return known(fields);
  } catch (error) {
    return unknown(`AdminServer on port ${port}: ${describe(error)}`);
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return code === 'ECONNREFUSED' ? 'connection refused' : (code ?? error.message);
}

/** JSON.parse, but integers of 16 digits and more arrive as decimal strings. */
export function parseWithBigNumbers(json: string): unknown {
  const quoted = json.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}/g, (token) =>
    token.startsWith('"') ? token : `"${token}"`,
  );
  return JSON.parse(quoted);
}
