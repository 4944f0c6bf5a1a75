/** Just enough of each server's protocol to ask "do you serve yet?", over a bare socket. */
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** One question, one deadline: a server that is starting may accept and never answer. */
const askTimeoutMs = 2000;

/**
 * Sends text and returns what came back, until the server closes or `enough` says so.
 * Rejects when the connection fails or the deadline passes.
 */
export function askSocket(
  port: number,
  question: string,
  enough: (answer: string) => boolean,
  tls = false,
): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const where = { port, host: '127.0.0.1' };
    // Unverified: it is our own child, and nothing secret but its own password is said.
    const socket = tls ? connectTls({ ...where, rejectUnauthorized: false }) : connect(where);
    socket.setTimeout(askTimeoutMs, () => {
      socket.destroy(new Error(`no answer on port ${port} within ${askTimeoutMs} ms`));
    });
    // A character a byte: Redis counts bytes.
    socket.setEncoding('latin1').on('data', (part: string) => {
      answer += part;
      if (enough(answer)) socket.end();
    });
    socket.once('error', reject).once('close', () => {
      resolve(answer);
    });
    socket.write(question);
  });
}

/** Redis commands in one pipeline; returns the raw replies, one after the other. */
export function askRedis(
  port: number,
  commands: readonly (readonly string[])[],
  tls = false,
): Promise<string> {
  const encoded = commands.map(
    (words) =>
      `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`,
  );
  // Not ended by QUIT: a sentinel does not know it.
  return askSocket(port, encoded.join(''), (answer) => holdsReplies(answer, commands.length), tls);
}

/** Whether the text (a character a byte) holds so many complete replies. */
function holdsReplies(text: string, wanted: number): boolean {
  let [at, missing] = [0, wanted];
  while (missing > 0) {
    const end = text.indexOf('\r\n', at);
    if (end === -1) return false;
    const [kind, size] = [text[at], Number(text.slice(at + 1, end))];
    at = end + 2;
    missing -= 1;
    if (kind === '$' && size >= 0) at += size + 2;
    // The members of an array come as replies of their own.
    if (kind === '*' && size > 0) missing += size;
  }
  return at <= text.length;
}

/** A ZooKeeper four-letter word. */
export function askZooKeeper(port: number, word: string): Promise<string> {
  return askSocket(port, word, () => false);
}

export interface ClientCertificate {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

/** POSTs JSON to etcd's gateway; over TLS (unverified: it is our own child) when `tls` is given. */
export function postJson(
  port: number,
  path: string,
  body: unknown,
  tls: ClientCertificate | undefined,
): Promise<HttpAnswer> {
  const options = { host: '127.0.0.1', port, path, method: 'POST', timeout: askTimeoutMs };
  const request =
    tls === undefined
      ? httpRequest(options)
      : httpsRequest({
          ...options,
          rejectUnauthorized: false,
          cert: readFileSync(tls.certFile),
          key: readFileSync(tls.keyFile),
        });
  return new Promise((resolve, reject) => {
    request.once('timeout', () => {
      request.destroy(new Error(`no answer on port ${port} within ${askTimeoutMs} ms`));
    });
    request.once('error', reject);
    request.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.once('error', reject).once('end', () => {
        resolve({ status: response.statusCode ?? 0, body: text });
      });
    });
    request.end(JSON.stringify(body));
  });
}
