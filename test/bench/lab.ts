/** Throwaway servers for the length of one benchmark. */
import type { Lab, LabSystem } from '../../src/lab/lab.ts';
import { startLab } from '../../src/lab/start-lab.ts';

/** Runs `work` on a fresh server and stops it, whatever happens. */
export async function withLab<T>(
  system: LabSystem,
  work: (lab: Lab, port: number) => Promise<T>,
): Promise<T> {
  const lab = await startLab({ system, members: 1, tls: false, options: {} });
  try {
    const [server] = lab.servers;
    if (server === undefined) throw new Error('a lab has a server');
    return await work(lab, server.port);
  } finally {
    await lab.stop();
  }
}
