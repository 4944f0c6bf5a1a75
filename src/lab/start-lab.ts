/** Starts throwaway servers and keeps them: kill one, start it again, stop and remove them all. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InternalError, UsageError } from '../domain/errors.ts';
import type { ProcessIdentity } from '../processes/process-evidence.ts';
import type { LabCertificates } from './certificates.ts';
import { planEtcd } from './etcd.ts';
import { makeLabFolder, type Environment } from './folders.ts';
import { identify, killGroup } from './kill.ts';
import { noteStarter } from './leftovers.ts';
import type { Lab, LabServer, LabSpec } from './lab.ts';
import type { LabPlan, LabSite, ServerPlan } from './plan.ts';
import { reservePort } from './ports.ts';
import {
  adoptProcess,
  describeRecord,
  recordFile,
  removeLab,
  writeRecord,
  type LabRecord,
} from './records.ts';
import { planRedisCluster } from './redis-cluster.ts';
import { planRedisSentinel } from './redis-sentinel.ts';
import { planRedis, planRedlock } from './redis.ts';
import {
  hasEnded,
  PortTaken,
  spawnServer,
  waitForEnd,
  waitUntilReady,
  waitUntilTogether,
} from './server-process.ts';
import { planZooKeeper } from './zookeeper.ts';

export interface StartOptions {
  /**
   * `this-process` (default): the lab ends with this process, however it ends. `nobody`: it runs
   * until `lab down`.
   */
  readonly owner?: 'this-process' | 'nobody';
  readonly env?: Environment;
  /** Gives up starting; what was started is removed. */
  readonly signal?: AbortSignal;
}

const planners: Readonly<Record<LabSpec['system'], (site: LabSite) => Promise<LabPlan>>> = {
  redis: planRedis,
  'redis-sentinel': planRedisSentinel,
  'redis-cluster': planRedisCluster,
  redlock: planRedlock,
  etcd: planEtcd,
  zookeeper: planZooKeeper,
};
const portAttempts = 5;

/**
 * Starts the servers of `spec` on free ports of 127.0.0.1 in a folder of their own and waits until
 * they serve. A port that a stranger took meanwhile is no failure: others are tried.
 * @throws {TargetError} `lab-server-missing` when a server is not installed, `lab-not-ready` (with
 *   the end of the log) when it does not come up; nothing is left behind
 */
export async function startLab(spec: LabSpec, options: StartOptions = {}): Promise<Lab> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(spec, options);
    } catch (error) {
      if (!(error instanceof PortTaken) || attempt === portAttempts) throw error;
    }
  }
}

async function startOnce(spec: LabSpec, options: StartOptions): Promise<Lab> {
  const env = options.env ?? process.env;
  const id = `${spec.system}-${randomBytes(3).toString('hex')}`;
  const folder = makeLabFolder();
  const ports: number[] = [];
  const port = async (): Promise<number> => {
    const reserved = await reservePort(folder);
    ports.push(reserved);
    return reserved;
  };
  const file = recordFile(env, id);
  const self = await identify(process.pid);
  if (self !== undefined) noteStarter(folder, self, file);
  const record: LabRecord = {
    schemaVersion: 1,
    id,
    spec: { ...spec, options: { ...spec.options } },
    target: '',
    folder,
    startedAt: new Date().toISOString(),
    ...(self === undefined || options.owner === 'nobody' ? {} : { owner: self }),
    ...(self === undefined ? {} : { starting: self }),
    ports,
    servers: [],
  };
  writeRecord(file, record);
  try {
    const tls = spec.tls ? await certificates(join(folder, 'tls')) : undefined;
    const plan = await planners[spec.system]({ id, folder, spec, env, port, tls });
    const lab = new RunningLab(plan, { ...record, target: plan.target }, file, env);
    await lab.startAll(options.signal);
    return lab;
  } catch (error) {
    await removeLab(file, { ...record, ports });
    throw error;
  }
}

/** Loaded only here: few labs need it. */
async function certificates(folder: string): Promise<LabCertificates> {
  const { makeCertificates } = await import('./certificates.ts');
  return makeCertificates(folder);
}

interface Running {
  readonly child: ChildProcess;
  /** Undefined when it ended at once; waitUntilReady then tells why. */
  readonly identity: ProcessIdentity | undefined;
}

class RunningLab implements Lab {
  readonly #plan: LabPlan;
  readonly #file: string;
  readonly #env: Environment;
  readonly #running = new Map<string, Running>();
  #record: LabRecord;
  #reaper: ChildProcess | undefined;

  constructor(plan: LabPlan, record: LabRecord, file: string, env: Environment) {
    this.#plan = plan;
    this.#record = record;
    this.#file = file;
    this.#env = env;
  }

  get id(): string {
    return this.#record.id;
  }
  get spec(): LabSpec {
    return this.#record.spec;
  }
  get target(): string {
    return this.#record.target;
  }
  get folder(): string {
    return this.#record.folder;
  }
  get startedAt(): string {
    return this.#record.startedAt;
  }
  get ownerPid(): number | undefined {
    return this.#record.owner?.pid;
  }
  get servers(): readonly LabServer[] {
    return describeRecord(this.#record).servers;
  }

  async startAll(signal: AbortSignal | undefined): Promise<void> {
    this.#save();
    if (this.#record.owner !== undefined) this.#reaper = startReaper(this.#file);
    for (const server of this.#plan.servers) await this.#spawn(server, server.args);
    await Promise.all(this.#plan.servers.map((server) => this.#untilReady(server, signal)));
    await this.#plan.join?.();
    await waitUntilTogether(this.#plan, signal);
    this.#record = { ...this.#record, starting: undefined };
    this.#save();
  }

  async kill(name: string): Promise<void> {
    const running = this.#running.get(this.#planOf(name).name);
    if (running === undefined) return;
    if (running.identity !== undefined) await killGroup(running.identity);
    await waitForEnd(running.child);
    this.#running.delete(name);
  }

  async start(name: string, how: { readonly empty?: boolean } = {}): Promise<void> {
    const server = this.#planOf(name);
    if (this.#isRunning(name)) {
      throw new UsageError(`${name} of lab ${this.id} runs already`, {
        code: 'lab-server-runs',
        hint: 'kill it first',
        definite: true,
      });
    }
    const args = how.empty === true ? await this.#empty(server) : server.args;
    await this.#spawn(server, args);
    await this.#untilReady(server, undefined);
  }

  async stop(): Promise<void> {
    await removeLab(this.#file, this.#record);
    await Promise.all([...this.#running.values()].map(({ child }) => waitForEnd(child)));
    this.#running.clear();
    this.#reaper?.kill();
  }

  adopt(leader: ProcessIdentity): void {
    adoptProcess(this.folder, leader);
  }

  async #empty(server: ServerPlan): Promise<readonly string[]> {
    rmSync(server.dataDir, { recursive: true, force: true });
    mkdirSync(server.dataDir);
    const living = this.#plan.servers.filter(({ name }) => this.#isRunning(name));
    return (await server.rejoinEmpty?.(living.map(({ port }) => port))) ?? server.args;
  }

  async #spawn(plan: ServerPlan, args: readonly string[]): Promise<void> {
    const child = spawnServer(plan, args, this.#env);
    const identity = child.pid === undefined ? undefined : await identify(child.pid);
    this.#running.set(plan.name, { child, identity });
    if (identity === undefined) return;
    const others = this.#record.servers.filter(({ name }) => name !== plan.name);
    const { name, port, otherPorts, dataDir, logFile } = plan;
    const entry = { name, ...identity, host: '127.0.0.1', port, otherPorts, dataDir, logFile };
    this.#record = {
      ...this.#record,
      servers: [...others, entry].sort((a, b) => a.name.localeCompare(b.name)),
    };
    this.#save();
  }

  async #untilReady(plan: ServerPlan, signal: AbortSignal | undefined): Promise<void> {
    const running = this.#running.get(plan.name);
    if (running === undefined) throw unknownServer(plan.name, this.#plan);
    await waitUntilReady(plan, running.child, signal);
  }

  #planOf(name: string): ServerPlan {
    const plan = this.#plan.servers.find((server) => server.name === name);
    if (plan === undefined) throw unknownServer(name, this.#plan);
    return plan;
  }

  /** False also for a server that somebody else killed. */
  #isRunning(name: string): boolean {
    const running = this.#running.get(name);
    return running !== undefined && !hasEnded(running.child);
  }

  #save(): void {
    writeRecord(this.#file, this.#record);
  }
}

function unknownServer(name: string, plan: LabPlan): UsageError {
  return new UsageError(`this lab has no server "${name}"`, {
    code: 'unknown-lab-server',
    hint: `it has ${plan.servers.map((server) => server.name).join(', ')}`,
    definite: true,
  });
}

/**
 * Starts the program that removes the lab when this process is gone. Its standard input is a pipe
 * from here, which the system closes at our end, whatever ends us.
 */
function startReaper(file: string): ChildProcess {
  const here = fileURLToPath(import.meta.url);
  // Tests import the sources; the reaper is a program of its own and always the built one.
  const script = here.endsWith('.ts')
    ? fileURLToPath(new URL('../../dist/lab/reaper.js', import.meta.url))
    : fileURLToPath(new URL('reaper.js', import.meta.url));
  if (!existsSync(script)) {
    throw new InternalError(`"${script}" is missing`, {
      code: 'not-built',
      hint: 'run: npm run build',
    });
  }
  const reaper = spawn(process.execPath, [script, file], {
    cwd: dirname(file),
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  reaper.unref();
  // The pipe must not keep us alive either.
  if (reaper.stdin instanceof Socket) reaper.stdin.unref();
  // A pipe that breaks means that the reaper is gone; the next `lab` command does its work.
  reaper.stdin.once('error', () => undefined);
  return reaper;
}
