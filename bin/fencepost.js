#!/usr/bin/env node
import * as nodeModule from 'node:module';

// Node 22 and newer keep compiled code between runs; it must be on before our modules load.
nodeModule.enableCompileCache?.();
const { main } = await import('../dist/cli/main.js');

await main(process.argv);
