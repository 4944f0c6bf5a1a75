/**
 * A bare reader: name, type, TTL and value of every key over one socket, pipelined, the next page
 * asked for together with the keys of this one; prints the names. No error is handled.
 * Argument: the port.
 */
import { connect } from 'node:net';

type Reply = string | number | Error | readonly Reply[];

/** Replies in the order of their requests; each is given to the reader of its request. */
const readers: ((reply: Reply) => void)[] = [];
let nextReader = 0;
let out = '';
let lastPage = false;

const socket = connect(Number(process.argv[2]), '127.0.0.1');
let rest: Buffer = Buffer.alloc(0);
socket.on('data', (chunk: Buffer) => {
  const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
  let at = 0;
  for (;;) {
    const parsed = parse(bytes, at);
    if (parsed === undefined) break;
    at = parsed.next;
    readers[nextReader++]?.(parsed.reply);
  }
  rest = bytes.subarray(at);
  if (out !== '') socket.write(out);
  else if (lastPage && nextReader === readers.length) socket.end();
  out = '';
});

ask(['SCAN', '0', 'COUNT', '1000'], takePage);
socket.write(out);
out = '';

function ask(words: readonly string[], reader: (reply: Reply) => void): void {
  out += `*${words.length}\r\n`;
  for (const word of words) out += `$${Buffer.byteLength(word)}\r\n${word}\r\n`;
  readers.push(reader);
}

function takePage(reply: Reply): void {
  readers.splice(0, nextReader);
  nextReader = 0;
  const [cursor, keys] = reply as [string, string[]];
  if (cursor !== '0') ask(['SCAN', cursor, 'COUNT', '1000'], takePage);
  for (const key of keys) {
    let type: Reply = '';
    ask(['TYPE', key], (answer) => (type = answer));
    ask(['PTTL', key], () => undefined);
    ask(['GET', key], () => {
      if (type === 'hash') ask(['HGETALL', key], () => undefined);
    });
  }
  if (keys.length > 0) process.stdout.write(`${keys.join('\n')}\n`);
  lastPage = cursor === '0';
}

/** One reply that begins at `at`, or undefined while it is not there as a whole. */
function parse(bytes: Buffer, at: number): { reply: Reply; next: number } | undefined {
  const end = bytes.indexOf('\r\n', at);
  if (end < 0) return undefined;
  const head = bytes.toString('latin1', at + 1, end);
  const body = end + 2;
  switch (String.fromCharCode(bytes[at] ?? 0)) {
    case '$': {
      const next = body + Number(head) + 2;
      if (next > bytes.length) return undefined;
      return { reply: bytes.toString('utf8', body, next - 2), next };
    }
    case '*': {
      const replies: Reply[] = [];
      let next = body;
      for (let left = Number(head); left > 0; left -= 1) {
        const one = parse(bytes, next);
        if (one === undefined) return undefined;
        replies.push(one.reply);
        next = one.next;
      }
      return { reply: replies, next };
    }
    case ':':
      return { reply: Number(head), next: body };
    case '-':
      return { reply: new Error(head), next: body };
    default:
      return { reply: head, next: body };
  }
}
