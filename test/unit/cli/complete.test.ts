import { Argument, Command, Option } from 'commander';
import { describe, expect, test } from 'vitest';
import { completeWords } from '../../../src/cli/complete.ts';

function program(): Command {
  const root = new Command('fencepost').option('--no-color');
  root
    .command('ls')
    .summary('list')
    .argument('[pattern]')
    .option('--all', 'everything')
    .addOption(new Option('-o, --output <format>', 'form').choices(['table', 'json']))
    .option('--password-file <file>', 'secret');
  root.command('show').summary('show one').argument('<name>').option('--target <url>', 'where');
  const lab = root.command('lab').summary('servers');
  lab.command('up').addArgument(new Argument('<system>').choices(['redis', 'etcd']));
  lab.command('down').argument('[id]').description('Stop a lab.\nMore about that.');
  root.command('secret', { hidden: true });
  return root;
}

function complete(...words: readonly string[]): readonly string[] {
  const found = completeWords(program(), words);
  return typeof found === 'string' ? [found] : found.map((line) => line.split('\t')[0] ?? '');
}

describe('completion', () => {
  test('the first word is a command, and hidden ones stay hidden', () => {
    expect(complete('')).toEqual(['ls', 'show', 'lab', 'help']);
    expect(complete('l')).toEqual(['ls', 'lab']);
  });

  test('a command offers its own options, with their descriptions', () => {
    expect(complete('ls', '--a')).toEqual(['--all']);
    expect(completeWords(program(), ['ls', '--al'])).toEqual(['--all\teverything']);
  });

  test('an option with choices offers them, by either name', () => {
    expect(complete('ls', '-o', '')).toEqual(['table', 'json']);
    expect(complete('ls', '--output', 'j')).toEqual(['json']);
  });

  test('an option that takes a file asks the shell for files', () => {
    expect(complete('ls', '--password-file', 'x')).toEqual([':file']);
  });

  test('options before a name do not confuse the place of the name', () => {
    expect(complete('--no-color', 'lab', 'u')).toEqual(['up']);
    expect(complete('lab', 'up', 'r')).toEqual(['redis']);
  });

  test('a long description is cut to its first line', () => {
    expect(completeWords(program(), ['lab', 'd'])).toEqual(['down\tStop a lab.']);
  });

  test('nothing is offered where anything may stand', () => {
    expect(complete('ls', '')).toEqual([]);
    expect(complete('ls', '--', '--a')).toEqual([]);
  });

  test('names of locks, targets and labs are to be asked for', () => {
    expect(complete('show', 'orders:')).toEqual(['lock']);
    expect(complete('show', '--target', 'red')).toEqual(['target']);
    expect(complete('lab', 'down', '')).toEqual(['lab']);
  });
});
