/**
 * Ports for labs. They lie below the range from which the system takes client ports: a client that
 * re-connects to a killed server could otherwise get that very port as its own and keep it. A port
 * stays reserved while its lab lives, also while its server is down.
 */
import { mkdirSync, readFileSync, rmSync, existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { TargetError } from '../domain/errors.ts';
import { portsFolder } from './folders.ts';

const lowest = 12_000;
const highest = 32_000;
const attempts = 200;

/** Reserves one port on 127.0.0.1 for the lab in `labFolder`. */
export async function reservePort(labFolder: string): Promise<number> {
  mkdirSync(portsFolder(), { recursive: true, mode: 0o700 });
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const port = randomInt(lowest, highest);
    if (!claim(port, labFolder)) continue;
    if (await isFree(port)) return port;
    rmSync(join(portsFolder(), String(port)), { force: true });
  }
  throw new TargetError(`no free port between ${lowest} and ${highest} on 127.0.0.1`, {
    code: 'no-free-port',
    hint: 'see what runs: fencepost lab status',
    definite: true,
  });
}

/** Gives ports back. Idempotent. */
export function releasePorts(ports: readonly number[]): void {
  for (const port of ports) rmSync(join(portsFolder(), String(port)), { force: true });
}

function claim(port: number, labFolder: string): boolean {
  const file = join(portsFolder(), String(port));
  try {
    writeFileSync(file, labFolder, { flag: 'wx', mode: 0o600 });
    return true;
  } catch {
    // Taken, maybe by a lab that was removed by hand: then the next draw of this port finds it free.
    if (!existsSync(readOr(file, labFolder))) rmSync(file, { force: true });
    return false;
  }
}

function readOr(file: string, fallback: string): string {
  try {
    return readFileSync(file, 'utf8') || fallback;
  } catch {
    // Given back in between.
    return fallback;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}
