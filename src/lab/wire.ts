/** Just enough of each server's protocol to ask "do you serve yet?", over a bare socket. */
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';

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
): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect({ port, host: '127.0.0.1' });
    socket.setTimeout(askTimeoutMs, () => {
      socket.destroy(new Error(`no answer on port ${port} within ${askTimeoutMs} ms`));
    });
    socket.setEncoding('utf8').on('data', (part: string) => {
      answer += part;
      if (enough(answer)) socket.end();
    });
    socket.once('error', reject).once('close', () => {
      resolve(answer);
    });
    socket.write(question);
  });
}

/** Redis commands in one pipeline; returns the raw replies. Each must have a one-line reply. */
export function askRedis(port: number, commands: readonly (readonly string[])[]): Promise<string> {
  const encoded = commands.map(
    (words) =>
      `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`,
  );
  return askSocket(
    port,
    encoded.join(''),
    (answer) => answer.split('\r\n').length > commands.length,
  );
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
