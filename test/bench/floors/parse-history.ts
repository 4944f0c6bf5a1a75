/** Parses a history as `fencepost check` does, and judges nothing: the difference is the judging. */
import { createReadStream } from 'node:fs';
import { HistoryParser } from '../../../src/checks/parse-history.ts';

const [file = ''] = process.argv.slice(2);
const parser = new HistoryParser(file);
for await (const piece of createReadStream(file, { encoding: 'utf8', highWaterMark: 2 ** 20 })) {
  parser.add(String(piece));
}
process.stdout.write(`${parser.finish().history.events.length}\n`);
