#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';

// The build keeps the answer to `--help` as a file: it needs neither the parser nor our modules.
const help = fileURLToPath(import.meta.resolve('../dist/help.txt'));
const [argument, ...others] = process.argv.slice(2);
const asksForHelp = ['--help', '-h', 'help'].includes(argument) && others.length === 0;

if (asksForHelp && existsSync(help)) {
  process.stdout.on('error', () => process.exit(0));
  process.stdout.write(readFileSync(help));
} else {
  // Node 22 and newer keep compiled code between runs; it must be on before our modules load.
  nodeModule.enableCompileCache?.();
  const { main } = await import('../dist/cli/main.js');
  await main(process.argv);
}
