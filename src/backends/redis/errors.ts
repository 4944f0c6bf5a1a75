/**
 * Every failure of a Redis server or connection as one sentence of our own. The single place that
 * reads ioredis errors; nothing else looks at their texts.
 */
import {
  FencepostError,
  InternalError,
  Interrupted,
  PermissionError,
  TargetError,
  type ErrorDetails,
} from '../../domain/errors.ts';
import type { Endpoint } from '../../domain/target.ts';
import { stringToText, type Text } from '../../domain/text.ts';

/** What was being done when the error came; decides what may be said about its effect. */
export interface ErrorContext {
  /** Target as it may be printed. */
  readonly display: string;
  /** `connect`: nothing was sent yet. `read`: has no effect anyway. `write`: may have happened. */
  readonly doing: 'connect' | 'read' | 'write';
  readonly tls: boolean;
  readonly username: string | undefined;
}

interface Rule {
  readonly sign: RegExp;
  readonly make: (
    text: string,
    at: ErrorContext,
  ) => [new (m: string, d: ErrorDetails) => FencepostError, string, string, string];
  /** The server answers this before it runs anything. */
  readonly definite: boolean;
}

/** Server replies, by their first word. A reply not listed here is `server-error`, not definite. */
const replies: readonly Rule[] = [
  {
    sign: /^WRONGPASS|^ERR invalid password|^ERR AUTH .*wrong number/i,
    definite: true,
    make: (_text, at) => [
      PermissionError,
      'wrong-password',
      `${at.display} refused the user name or password`,
      'check FENCEPOST_PASSWORD or the password file, and the user name in the URL',
    ],
  },
  {
    sign: /^NOAUTH|^ERR .*without any password configured/,
    definite: true,
    make: (_text, at) => [
      PermissionError,
      'password-needed',
      `${at.display} wants a password and none was given`,
      'set FENCEPOST_PASSWORD, or use --password-file FILE',
    ],
  },
  {
    sign: /^NOPERM|The user executing the script can't|ACL failure in script/i,
    definite: true,
    make: (text, at) => [
      PermissionError,
      'permission-denied',
      `the account ${quoted(at.username ?? 'default')} may not ${refusedAction(text)} on ${at.display}`,
      permissionRemedy(text),
    ],
  },
  {
    sign: /^LOADING/,
    definite: true,
    make: (_text, at) => [
      TargetError,
      'target-loading',
      `${at.display} is still loading its data`,
      'try again when it has finished',
    ],
  },
  {
    sign: /^READONLY/,
    definite: true,
    make: (_text, at) => [
      TargetError,
      'target-read-only',
      `${at.display} is a read-only replica`,
      'point fencepost at its primary',
    ],
  },
  {
    sign: /^(?:MOVED|ASK|CROSSSLOT|CLUSTERDOWN|TRYAGAIN) /,
    definite: true,
    make: (_text, at) => [
      TargetError,
      'cluster-node',
      `${at.display} is one node of a cluster, and this key is not on it`,
      'use redis+cluster:// with the hosts of the cluster',
    ],
  },
  {
    sign: /^MASTERDOWN/,
    definite: true,
    make: (_text, at) => [
      TargetError,
      'replica-stale',
      `${at.display} is a replica that lost its primary and refuses to answer from old data`,
      'point fencepost at the primary, or set replica-serve-stale-data yes',
    ],
  },
  {
    sign: /^BUSY /,
    definite: true,
    make: (_text, at) => [
      TargetError,
      'target-busy',
      `${at.display} is busy running somebody's script`,
      'try again later',
    ],
  },
  {
    sign: /^(?:OOM|NOREPLICAS|MISCONF)/,
    definite: true,
    make: (text, at) => [
      TargetError,
      'writes-refused',
      `${at.display} refuses writes: ${quoted(text)}`,
      'mend the server first',
    ],
  },
  {
    sign: /^ERR DB index is out of range|^ERR invalid DB index/,
    definite: true,
    make: (_text, at) => [
      TargetError,
      'no-such-database',
      `${at.display} has no database of that number`,
      'check the number at the end of the URL',
    ],
  },
  {
    sign: /^DENIED|^ERR max number of clients/,
    definite: true,
    make: (text, at) => [
      TargetError,
      'connection-refused-by-server',
      `${at.display} turned the connection away: ${quoted(text)}`,
      'see the server’s protected-mode and maxclients settings',
    ],
  },
];

const socketSentences: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  ETIMEDOUT: 'no answer in time',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ENOTFOUND: 'no such host name',
  EAI_AGAIN: 'the host name could not be looked up',
};

/** Any error of ioredis, Node's sockets or our own deadlines as a FencepostError. */
export function toFencepostError(error: unknown, at: ErrorContext): FencepostError {
  if (error instanceof FencepostError) return error;
  if (!(error instanceof Error)) {
    return new InternalError('something that is no error was thrown', { code: 'internal' });
  }
  const rule = replies.find(({ sign }) => sign.test(error.message));
  if (rule !== undefined) {
    const [Kind, code, message, hint] = rule.make(error.message, at);
    return new Kind(message, { code, hint, definite: rule.definite, cause: bare(error) });
  }
  if (error.name === 'ReplyError') {
    return new TargetError(`${at.display} answered ${quoted(error.message)}`, {
      code: 'server-error',
      cause: bare(error),
      definite: at.doing !== 'write',
    });
  }
  return connectionError(error, at);
}

function connectionError(error: Error, at: ErrorContext): FencepostError {
  const code = codeOf(error);
  const definite = at.doing !== 'write';
  const cause = bare(error);
  if (isTlsFailure(error, code)) {
    return new TargetError(`no secure connection to ${at.display}: ${tlsSentence(error, code)}`, {
      code: 'tls-failed',
      hint: 'check ca=, cert=, key= and servername= in the URL; a clear-text port wants redis://',
      cause,
      definite,
    });
  }
  if (/RESP type|Please report this/.test(error.message)) {
    return new TargetError(`${at.display} does not speak the Redis protocol`, {
      code: 'not-redis',
      hint: 'is this the right port?',
      cause,
      definite,
    });
  }
  const sentence = socketSentences[code] ?? 'the connection was closed';
  if (at.doing !== 'connect') {
    return new TargetError(`lost the connection to ${at.display}: ${sentence}`, {
      code: 'connection-lost',
      hint: 'run the command again',
      cause,
      definite,
    });
  }
  return new TargetError(`cannot reach ${at.display}: ${sentence}`, {
    code: 'target-unreachable',
    hint: unreachableHint(code, at),
    cause,
    definite: true,
  });
}

function unreachableHint(code: string, at: ErrorContext): string {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'check the host name';
  if (code === 'ECONNREFUSED') {
    return 'is the server up, and is this the right port? `fencepost lab up redis` starts a throwaway one';
  }
  return at.tls
    ? 'is the server up, and does it speak TLS on this port?'
    : 'is the server up, and does it speak clear text on this port? TLS wants rediss://';
}

/** A command that the deadline cut off: whether the server ran it is not known. */
export function requestTimeout(timeoutMs: number, at: ErrorContext): TargetError {
  return new TargetError(`${at.display} did not answer within ${timeoutMs} ms`, {
    code: at.doing === 'connect' ? 'target-unreachable' : 'request-timeout',
    hint:
      at.doing === 'connect'
        ? unreachableHint('', at)
        : 'is the server up and not stopped or overloaded?',
    definite: at.doing !== 'write',
  });
}

/** A key that the ACL hides from this account: it may exist or not. */
export function unreadable(key: Text): PermissionError {
  return new PermissionError(`this account may not read the key "${key}"`, {
    code: 'permission-denied',
    hint: 'needs a key pattern that covers it (ACL SETUSER … ~pattern)',
    definite: true,
  });
}

/** An answer whose shape is not Redis's. */
export function badReply(what: string): TargetError {
  return new TargetError(`the server's answer to ${what} has an unexpected shape`, {
    code: 'bad-reply',
    hint: 'is this a Redis, or a proxy that imitates one?',
  });
}

/** Whether the account lacks a permission for what was asked. */
export function isRefusal(error: unknown): error is PermissionError {
  return error instanceof PermissionError && error.code === 'permission-denied';
}

/** Where a node of a cluster sends us for a key. */
export interface Redirection {
  readonly kind: 'moved' | 'ask';
  readonly to: Endpoint;
}

/** What `MOVED` and `ASK` say; undefined for anything else. */
export function redirection(error: unknown): Redirection | undefined {
  const match = /^(MOVED|ASK) \d+ (.*):(\d+)$/.exec(serverWord(error));
  if (match === null) return undefined;
  const [, word, host = '', port] = match;
  return { kind: word === 'ASK' ? 'ask' : 'moved', to: { host, port: Number(port) } };
}

/** Whether some of a command's keys have gone ahead of their slot, so that no node has them all. */
export function isTornApart(error: unknown): boolean {
  return serverWord(error).startsWith('TRYAGAIN');
}

/** The server's own sentence behind an error of ours. */
function serverWord(error: unknown): string {
  return error instanceof TargetError && error.cause instanceof Error ? error.cause.message : '';
}

/** Whether the server does not know the command or subcommand (older version, proxy). */
export function isUnknownCommand(error: unknown): boolean {
  return (
    error instanceof TargetError &&
    /unknown (?:redis )?(?:sub)?command|unknown subcommand/i.test(error.message)
  );
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function isTlsFailure(error: Error, code: string): boolean {
  return (
    /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|UNABLE_TO|SELF_SIGNED|HOSTNAME_MISMATCH|EPROTO)/.test(
      code,
    ) || /certificate|wrong version number|ssl routines/i.test(error.message)
  );
}

function tlsSentence(error: Error, code: string): string {
  if (/wrong version number|packet length/i.test(error.message) || code === 'EPROTO') {
    return 'the server does not speak TLS on this port';
  }
  const known: Readonly<Record<string, string>> = {
    CERT_HAS_EXPIRED: 'its certificate has expired',
    DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself only',
    SELF_SIGNED_CERT_IN_CHAIN: 'its certificate chain ends in an authority that is not trusted',
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not signed by a trusted authority',
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not signed by a trusted authority',
    ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate names another host',
  };
  return known[code] ?? stringToText(error.message);
}

/** `run client|list`, `read this key`, from the server's own sentence. */
function refusedAction(text: string): string {
  const command = /'([^']+)' command|run the '([^']+)'/.exec(text);
  const name = command?.[1] ?? command?.[2];
  if (name !== undefined) return `run ${stringToText(name)}`;
  if (/channel/i.test(text)) return 'use one of the channels';
  return 'access one of the keys';
}

function permissionRemedy(text: string): string {
  const command = /'([^']+)' command|run the '([^']+)'/.exec(text);
  const name = command?.[1] ?? command?.[2];
  return name === undefined
    ? 'needs a key or channel pattern that covers it (ACL SETUSER … ~pattern &pattern)'
    : `needs +${stringToText(name)}`;
}

function quoted(text: string): string {
  return `"${stringToText(text)}"`;
}

/** The cause without its command: ioredis hangs the arguments on it, and AUTH's are a password. */
function bare(error: Error): Error {
  const copy = new Error(stringToText(error.message));
  copy.name = error.name;
  return copy;
}

/**
 * A failure of one server among several that the others make up for.
 * @throws whatever is none: an interruption, a bug
 */
export function tolerated(error: unknown): FencepostError {
  if (error instanceof FencepostError && !(error instanceof Interrupted)) return error;
  throw error;
}
