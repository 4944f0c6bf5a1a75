/** `fencepost lab`: wires install, up, down and status to src/lab. */
import Table from 'cli-table3';
import { Option, type Command } from 'commander';
import { formatDuration } from '../../domain/duration.ts';
import { UsageError } from '../../domain/errors.ts';
import { installServers } from '../../lab/install/install.ts';
import type { FoundServer } from '../../lab/install/server-version.ts';
import type { LabInfo } from '../../lab/lab.ts';
import {
  labSystems,
  labTopologies,
  parseLabSpec,
  parseLabSystem,
  printableSpec,
} from '../../lab/lab-spec.ts';
import { labStatus, stopLabs, type LabStatus } from '../../lab/lab-status.ts';
import { tidyLabs } from '../../lab/leftovers.ts';
import { startLab } from '../../lab/start-lab.ts';
import type { Io } from '../io.ts';
import { addOutputOption } from '../output.ts';
import type { RegisterCommand } from './command.ts';

interface OutputOption {
  readonly output: string;
}

interface UpOptions extends OutputOption {
  readonly members?: string;
  readonly tls?: true;
  readonly option: readonly string[];
}

export const registerLab: RegisterCommand = (program, io) => {
  const lab = program
    .command('lab')
    .summary('throwaway servers on this machine')
    .description('Throwaway servers on this machine: no root, no containers, nothing left behind.');
  registerInstall(lab, io);
  registerUp(lab, io);
  registerDown(lab, io);
  registerStatus(lab, io);
};

function registerInstall(lab: Command, io: Io): void {
  const command = lab
    .command('install')
    .description(
      'Make sure that the servers can be started, and say which ones will be.\n' +
        "Servers on PATH are used; on Debian and Ubuntu the rest is unpacked into the user's cache.",
    )
    .argument('[system...]', `which of ${labSystems.join(', ')} (default: all)`);
  addOutputOption(command, ['table', 'json']).action(
    async (names: readonly string[], options: OutputOption) => {
      const systems = names.length === 0 ? labSystems : names.map(parseLabSystem);
      const found = await installServers([...new Set(systems)], {
        env: io.env,
        platform: process.platform,
        signal: io.signal,
        report: (line) => {
          io.err(`fencepost: ${line}\n`);
        },
      });
      await io.out(options.output === 'json' ? json({ servers: found }) : foundTable(found));
    },
  );
}

function registerUp(lab: Command, io: Io): void {
  const command = lab
    .command('up')
    .description('Start servers on free ports and print their target URL. They run until lab down.')
    .argument('<system>', labTopologies.join(', '))
    .option(
      '--members <n>',
      'servers in all: 1 or 3 (redis: a primary with replicas); redlock 3 or 5',
    )
    .option('--tls', 'Redis over TLS, with an authority made for this lab')
    .addOption(
      new Option('--option <name=value>', 'a setting of the server; zookeeper also: 4lw=off')
        .default([], 'none')
        .argParser((value: string, before: readonly string[]) => [...before, value]),
    );
  addOutputOption(command, ['table', 'json']).action(async (system: string, options: UpOptions) => {
    const spec = parseLabSpec(system, options.members, options.option, options.tls);
    await tidy(io);
    const started = await startLab(spec, { owner: 'nobody', env: io.env, signal: io.signal });
    io.err(`fencepost: lab ${started.id} runs; stop it: fencepost lab down ${started.id}\n`);
    await io.out(options.output === 'json' ? json(plainLab(started)) : `${started.target}\n`);
  });
}

function registerDown(lab: Command, io: Io): void {
  lab
    .command('down')
    .description('Stop a lab and remove everything of it.')
    .argument('[id]', 'which one; may be left out when only one runs')
    .option('--all', 'every lab that was started by lab up (those of a run end with the run)')
    .action(async (id: string | undefined, options: { readonly all?: true }) => {
      if (id !== undefined && options.all === true) {
        throw new UsageError(`"${id}" and --all exclude each other`, {
          code: 'which-lab',
          hint: 'leave one of them out',
          definite: true,
        });
      }
      await tidy(io);
      const stopped = await stopLabs(io.env, { id, all: options.all === true }, io.signal);
      if (stopped.length === 0) io.err('fencepost: no lab runs\n');
      for (const each of stopped) io.err(`fencepost: stopped ${each}\n`);
    });
}

function registerStatus(lab: Command, io: Io): void {
  const command = lab.command('status').description('List the labs of this user.');
  addOutputOption(command, ['table', 'json']).action(async (options: OutputOption) => {
    await tidy(io);
    const labs = await labStatus(io.env, new Date());
    if (options.output === 'json') await io.out(json({ labs }));
    else if (labs.length === 0) io.err('fencepost: no lab runs\n');
    else await io.out(statusTable(labs));
  });
}

/** What killed runs left is removed by whichever lab command comes next. */
async function tidy(io: Io): Promise<void> {
  for (const line of await tidyLabs(io.env)) io.err(`fencepost: ${line}\n`);
}

function json(value: object): string {
  return `${JSON.stringify({ schemaVersion: 1, ...value }, undefined, 2)}\n`;
}

function plainLab(lab: LabInfo & { readonly folder: string }): object {
  const { id, spec, target, folder, servers, startedAt } = lab;
  return { id, spec: printableSpec(spec), target, folder, servers, startedAt };
}

function statusTable(labs: readonly LabStatus[]): string {
  return plainTable(
    ['ID', 'STATE', 'TARGET', 'PIDS', 'AGE', 'ENDS WITH'],
    labs.map((lab) => [
      lab.id,
      lab.state,
      lab.target,
      lab.servers.map(({ pid }) => pid).join(','),
      formatDuration(lab.ageMs),
      lab.ownerPid === undefined ? 'lab down' : `run ${lab.ownerPid}`,
    ]),
  );
}

function foundTable(found: readonly FoundServer[]): string {
  return plainTable(
    ['SERVER', 'VERSION', 'FROM', 'FILE'],
    found.map(({ name, version, from, file }) => [name, version, from, file]),
  );
}

/** Columns without lines. */
function plainTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const none = ['top', 'bottom', 'left', 'right', 'mid'] as const;
  const chars = Object.fromEntries(
    none.flatMap((side) =>
      [side, `${side}-mid`, `${side}-left`, `${side}-right`].map((k) => [k, '']),
    ),
  );
  const table = new Table({
    chars: { ...chars, 'left-mid': '', 'mid-mid': '', 'right-mid': '', middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  table.push([...head], ...rows.map((row) => [...row]));
  return `${table.toString().replaceAll(/ +$/gm, '')}\n`;
}
