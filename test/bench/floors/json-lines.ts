/** The least that judging a history can cost: every line of a file through JSON.parse, all kept. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

const [file = ''] = process.argv.slice(2);
const lines: unknown[] = [];
for await (const line of createInterface({ input: createReadStream(file) })) {
  lines.push(JSON.parse(line));
}
process.stdout.write(`${lines.length}\n`);
