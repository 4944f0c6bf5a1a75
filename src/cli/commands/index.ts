/** Every command, in the order of the help. Its module is loaded when its name is typed. */
import type { RegisterCommand } from './command.ts';

/** Called by the completion scripts; needs every command that is named after it. */
export const completeCommand = '__complete';

export interface CommandEntry {
  readonly name: string;
  /** One line for the list of commands; the command's own help says more. */
  readonly summary: string;
  /** For scripts, not for people: left out of the help. */
  readonly hidden?: boolean;
  load(): Promise<RegisterCommand>;
}

export const commands: readonly CommandEntry[] = [
  {
    name: 'ls',
    summary: 'list locks',
    load: async () => (await import('./ls.ts')).registerLs,
  },
  {
    name: 'show',
    summary: 'show one lock in full: who holds it, who waits, and whether the holder lives',
    load: async () => (await import('./show.ts')).registerShow,
  },
  {
    name: 'history',
    summary: 'list the past holders of a lock and their fencing tokens',
    load: async () => (await import('./history.ts')).registerHistory,
  },
  {
    name: 'release',
    summary: 'break one stuck lock under guards; plans unless --execute is given',
    load: async () => (await import('./release.ts')).registerRelease,
  },
  {
    name: 'log',
    summary: 'list the releases made from this machine, or verify their record',
    load: async () => (await import('./log.ts')).registerLog,
  },
  {
    name: 'audit',
    summary: 'check whether a lock server is set up to keep locks safe',
    load: async () => (await import('./audit.ts')).registerAudit,
  },
  {
    name: 'conventions',
    summary: 'list the lock layouts that are known, your own among them',
    load: async () => (await import('./conventions.ts')).registerConventions,
  },
  {
    name: 'run',
    summary: 'run chaos scenarios and judge whether locks and business kept their promises',
    load: async () => (await import('./run.ts')).registerRun,
  },
  {
    name: 'check',
    summary: 'judge a recorded history of any program, in any language',
    load: async () => (await import('./check.ts')).registerCheck,
  },
  {
    name: 'report',
    summary: 'show a finished run again',
    load: async () => (await import('./report.ts')).registerReport,
  },
  {
    name: 'heal',
    summary: 'undo what an interrupted run left behind',
    load: async () => (await import('./heal.ts')).registerHeal,
  },
  {
    name: 'completion',
    summary: 'print the completion script of a shell',
    load: async () => (await import('./completion.ts')).registerCompletion,
  },
  {
    name: 'lab',
    summary: 'throwaway servers on this machine',
    load: async () => (await import('./lab.ts')).registerLab,
  },
  {
    name: completeCommand,
    summary: '',
    hidden: true,
    load: async () => (await import('./completion.ts')).registerComplete,
  },
];
