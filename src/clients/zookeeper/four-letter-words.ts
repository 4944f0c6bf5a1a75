/** Four-letter words: plain-text questions on the client port, often switched off. */
import { connect } from 'node:net';
import { known, unknown, type Known } from '../../domain/known.ts';
import type { Endpoint, Target } from '../../domain/target.ts';
import { stringToText } from '../../domain/text.ts';
import type { MemberConnection } from './member-connection.ts';

/** What a member says to a word: its answer, that it may not answer, that it serves nobody, or nothing. */
export type WordReply =
  | { readonly kind: 'answer'; readonly text: string }
  | { readonly kind: 'not-allowed' | 'not-serving' | 'silent'; readonly reason: string };

/** The answer of one member; a sentence that refuses the word is `unknown`, not data. */
export async function fourLetterWord(
  target: Target,
  index: number,
  word: string,
  timeoutMs: number,
): Promise<Known<string>> {
  const reply = await askWord(target, index, word, timeoutMs);
  return reply.kind === 'answer' ? known(reply.text) : unknown(reply.reason);
}

/** Asks one member; never throws. */
export async function askWord(
  target: Target,
  index: number,
  word: string,
  timeoutMs: number,
): Promise<WordReply> {
  const endpoint = target.endpoints[index];
  if (endpoint === undefined) return { kind: 'silent', reason: 'no such member' };
  const answer = await ask(endpoint, word, timeoutMs);
  if (answer.kind === 'unknown') return { kind: 'silent', reason: answer.reason };
  return classifyAnswer(word, answer.value);
}

/** Refusals are plain sentences in the place of data. */
export function classifyAnswer(word: string, text: string): WordReply {
  if (text.includes('is not executed because it is not in the whitelist')) {
    return { kind: 'not-allowed', reason: `${word} is not in the server's whitelist` };
  }
  if (text.includes('not currently serving requests')) {
    return { kind: 'not-serving', reason: 'the member is not serving requests (no quorum?)' };
  }
  return { kind: 'answer', text };
}

function ask(endpoint: Endpoint, word: string, timeoutMs: number): Promise<Known<string>> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ host: endpoint.host, port: endpoint.port });
    const timer = setTimeout(() => {
      socket.destroy();
      resolve(unknown(`${word}: no answer within ${timeoutMs} ms`));
    }, timeoutMs);
    socket.setEncoding('utf8');
    socket.on('connect', () => socket.write(word));
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      resolve(unknown(`${word}: ${error.code ?? error.message}`));
    });
    socket.on('end', () => {
      clearTimeout(timer);
      resolve(text === '' ? unknown(`${word}: empty answer`) : known(text));
    });
  });
}

const connectionLine = /^ \/(?<address>\S+?)\[\d+\]\((?<fields>.*)\)$/;

/** Lines of `cons`: ` /10.0.3.7:50432[1](queued=0,recved=5,…,sid=0x10…,lop=PING,…,to=30000,…)`. */
export function parseConnections(text: string, member: string): MemberConnection[] {
  return text.split('\n').flatMap((line) => {
    const groups = connectionLine.exec(line)?.groups;
    if (groups === undefined) return [];
    const fields = new Map(
      (groups['fields'] ?? '').split(',').map((pair): [string, string] => {
        const [name = '', value = ''] = pair.split('=');
        return [name, value];
      }),
    );
    const sid = fields.get('sid');
    if (sid === undefined || !/^0x[0-9a-f]+$/.test(sid)) return [];
    return [
      {
        sessionId: BigInt(sid),
        address: stringToText(groups['address'] ?? ''),
        timeoutMs: toNumber(fields.get('to')),
        packetsReceived: toNumber(fields.get('recved')),
        lastOperation: stringToText(fields.get('lop') ?? ''),
        lastResponseMs: toNumber(fields.get('lresp')),
        member,
        source: 'cons' as const,
      },
    ];
  });
}

/** `wchp`: a path on its own line, then the session ids that watch it, indented. */
export function parseWatches(text: string): { sessionId: bigint; path: string }[] {
  const watches: { sessionId: bigint; path: string }[] = [];
  let path = '';
  for (const line of text.split('\n')) {
    if (line.startsWith('/')) path = line;
    else if (/^\s+0x[0-9a-f]+$/.test(line)) watches.push({ sessionId: BigInt(line.trim()), path });
  }
  return watches;
}

function toNumber(value: string | undefined): number | undefined {
  return value === undefined || !/^\d+$/.test(value) ? undefined : Number(value);
}
