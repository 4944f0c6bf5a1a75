/**
 * Every failure of an etcd cluster or connection as one sentence of our own. The single place that
 * reads gRPC statuses and etcd's error texts; nothing else looks at them.
 */
import {
  FencepostError,
  Interrupted,
  PermissionError,
  TargetError,
  type ErrorDetails,
} from '../../domain/errors.ts';
import { stringToText, type Text } from '../../domain/text.ts';

/** What was being done when the error came; decides what may be said about its effect. */
export interface ErrorContext {
  /** Target as it may be printed. */
  readonly display: string;
  /** `host:port` of the member that was asked. */
  readonly member: string;
  /** `connect`: nothing was sent yet. `read`: has no effect anyway. `write`: may have happened. */
  readonly doing: 'connect' | 'read' | 'write';
  readonly username: string | undefined;
  readonly timeoutMs: number;
}

interface Rule {
  readonly sign: RegExp;
  readonly code: string;
  readonly kind: new (message: string, details: ErrorDetails) => FencepostError;
  /** The request surely had no effect: it was refused before it was proposed, or never left. */
  readonly definite: boolean;
  readonly message: (at: ErrorContext, text: Text) => string;
  readonly hint: string;
}

/** etcd3 re-sends every call that it sees refused for its token: the link renames that refusal. */
export const tokenRefusal = {
  theirs: 'etcdserver: invalid auth token',
  ours: 'etcdserver: the auth token was refused',
} as const;

const rules: readonly Rule[] = [
  {
    sign: /authentication failed, invalid user ID or password/,
    code: 'wrong-password',
    kind: PermissionError,
    definite: true,
    message: (at) => `${at.display} refused the user name or password`,
    hint: 'check FENCEPOST_PASSWORD or the password file, and the user name in the URL',
  },
  {
    sign: /user name is empty|user name not found/,
    code: 'password-needed',
    kind: PermissionError,
    definite: true,
    message: (at) => `${at.display} wants a user and a password, and none was given`,
    hint: 'write etcd://USER@host:port and set FENCEPOST_PASSWORD, or use --password-file FILE',
  },
  {
    sign: /permission denied/,
    code: 'permission-denied',
    kind: PermissionError,
    definite: true,
    message: (at) =>
      `the roles of user ${quoted(at.username ?? '')} do not allow this on ${at.display}`,
    hint: 'see what they allow: etcdctl user get USER --detail',
  },
  {
    sign: /the auth token was refused|revision of auth store is old/,
    code: 'auth-token-refused',
    kind: PermissionError,
    definite: true,
    message: (at) => `${at.display} no longer accepts the token of this session`,
    hint: 'run the command again: it signs in anew',
  },
  {
    sign: /etcdserver: no leader/,
    code: 'no-leader',
    kind: TargetError,
    definite: true,
    message: (at) => `${at.member} of ${at.display} has no leader`,
    hint: 'a majority of the members must run and see each other: etcdctl endpoint status --cluster',
  },
  {
    sign: /etcdserver: (?:request timed out|leader changed|server stopped|not capable)/,
    code: 'no-quorum',
    kind: TargetError,
    definite: false,
    message: (at, text) =>
      `${at.member} of ${at.display} could not get a majority's answer: ${quoted(text)}`,
    hint: 'is a member down, or an election under way? etcdctl endpoint status --cluster',
  },
  {
    sign: /database space exceeded/,
    code: 'writes-refused',
    kind: TargetError,
    definite: true,
    message: (at) => `${at.display} refuses writes: its database is full (alarm NOSPACE)`,
    hint: 'compact, defragment and disarm the alarm first',
  },
  {
    sign: /too many requests/,
    code: 'target-busy',
    kind: TargetError,
    definite: true,
    message: (at) => `${at.display} has too many requests waiting`,
    hint: 'try again later',
  },
  {
    sign: /required revision has been compacted/,
    code: 'compacted',
    kind: TargetError,
    definite: true,
    message: (at) => `${at.display} has compacted the revision that was asked for`,
    hint: 'run the command again',
  },
  {
    sign: /requested lease not found/,
    code: 'lease-not-found',
    kind: TargetError,
    definite: true,
    message: (at) => `${at.display} has no such lease`,
    hint: 'it expired or was revoked',
  },
  {
    sign: /message larger than max/i,
    code: 'reply-too-big',
    kind: TargetError,
    definite: false,
    message: (at) => `${at.member} answered with more than may be read at once`,
    hint: 'give a narrower pattern',
  },
  {
    sign: /self.signed|certificate|unable to verify|altnames|wrong version number|ssl|tls/i,
    code: 'tls-failed',
    kind: TargetError,
    definite: true,
    message: (at, text) => `no TLS connection to ${at.member}: ${quoted(text)}`,
    hint: 'check ca=, cert=, key= and servername= in the URL, and whether this port speaks TLS',
  },
  {
    sign: /Failed to connect/,
    code: 'target-unreachable',
    kind: TargetError,
    definite: true,
    message: (at) =>
      `${at.member} of ${at.display} closes every connection: it is no clear-text etcd`,
    hint: 'is this the client port? If the cluster speaks TLS, write etcds:// and ca=FILE',
  },
  {
    sign: /No connection established|Name resolution failed|ECONNREFUSED|EHOSTUNREACH|ENOTFOUND/,
    code: 'target-unreachable',
    kind: TargetError,
    definite: true,
    message: (at, text) => `cannot reach ${at.member} of ${at.display}: ${connectReason(text)}`,
    hint: 'is the server up, and is this the right port? `fencepost lab up etcd` starts a throwaway one',
  },
  {
    sign: /^12 |404|415|Protocol error|http2/i,
    code: 'not-etcd',
    kind: TargetError,
    definite: true,
    message: (at, text) => `${at.member} does not answer as etcd does: ${quoted(text)}`,
    hint: 'check host and port of the target',
  },
];

/** Codes of failures that surely had no effect, whatever was being done. */
export const definiteCodes: readonly string[] = rules.flatMap(({ code, definite }) =>
  definite ? [code] : [],
);

/** @returns what to throw; `definite` says whether the request surely had no effect */
export function toFencepostError(cause: unknown, at: ErrorContext): FencepostError {
  if (cause instanceof FencepostError) return cause;
  const { number, text } = readStatus(cause);
  if (number === 1) return new Interrupted('interrupted', { code: 'interrupted' });
  // A member that runs into the deadline a moment before us says so in words of its own.
  if (number === 4 || text === 'context deadline exceeded') return timedOut(at, cause);
  const rule = rules.find(({ sign }) => sign.test(`${number} ${text}`));
  const harmless = at.doing !== 'write';
  if (rule !== undefined) {
    return new rule.kind(rule.message(at, text), {
      code: rule.code,
      hint: rule.hint,
      cause,
      definite: rule.definite || harmless,
    });
  }
  return new TargetError(`${at.member} of ${at.display}: ${quoted(text)}`, {
    code: number === 14 ? 'target-lost' : 'server-error',
    hint: number === 14 ? 'the connection broke: is the member up?' : 'see the log of that member',
    cause,
    definite: harmless,
  });
}

/** etcd3 keeps the status only in the text: `14 UNAVAILABLE: …`, sometimes behind words of its own. */
function readStatus(cause: unknown): { readonly number: number; readonly text: Text } {
  const raw = cause instanceof Error ? cause.message : String(cause);
  const [, number = '-1', text = raw] = /(\d{1,2}) [A-Z_]+: ([^]*)/.exec(raw) ?? [];
  return { number: Number(number), text: stringToText(shorten(text)) };
}

function timedOut(at: ErrorContext, cause: unknown): FencepostError {
  const connecting = at.doing === 'connect';
  return new TargetError(
    connecting
      ? `cannot reach ${at.member} of ${at.display}: no answer within ${at.timeoutMs} ms`
      : `${at.member} of ${at.display} did not answer within ${at.timeoutMs} ms`,
    {
      code: connecting ? 'target-unreachable' : 'target-timeout',
      hint: 'is it overloaded, or cut off from the other members? etcdctl endpoint status --cluster',
      cause,
      definite: at.doing !== 'write',
    },
  );
}

/** Whether another member may be asked instead: this one is gone, or sees no leader. */
export function isMemberTrouble(error: FencepostError): boolean {
  return ['target-unreachable', 'target-lost', 'target-timeout', 'no-leader', 'no-quorum'].includes(
    error.code,
  );
}

function connectReason(text: Text): string {
  if (text.includes('ECONNREFUSED')) return 'connection refused';
  if (/ENOTFOUND|Name resolution failed/.test(text)) return 'unknown host name';
  return quoted(text);
}

function shorten(text: string): string {
  return text
    .replace(/ ?Resolution note:.*$/s, '')
    .replace(
      /^No connection established\. Last error: (?:Error: )?(?!$)/,
      'No connection established: ',
    )
    .slice(0, 300)
    .trim();
}

function quoted(text: string): string {
  return `"${text}"`;
}
