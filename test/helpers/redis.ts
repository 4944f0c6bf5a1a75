/** Speaking to a lab's Redis in tests, for the set-up that a user's own programs would have made. */
import { askRedis } from '../../src/lab/wire.ts';
import type { LabHandle } from './servers.ts';

/** Sends commands whose replies have one line each. @throws {Error} at the first refusal */
export async function redisDo(
  handle: LabHandle,
  ...commands: readonly (readonly string[])[]
): Promise<readonly string[]> {
  const replies = (await askRedis(redisPort(handle), commands)).trimEnd().split('\r\n');
  const refused = replies.find((reply) => reply.startsWith('-'));
  if (refused !== undefined) throw new Error(`redis refused: ${refused}`);
  return replies;
}

/** The port of a lab with one server. */
export function redisPort(handle: LabHandle): number {
  return handle.lab.servers[0]?.port ?? 0;
}
