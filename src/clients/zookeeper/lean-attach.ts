/**
 * Opens a `LeanConnection`: reaches a member, and begins a session or takes up one that is there.
 * The member's answer is a sign that the session lives, or the word that it has expired.
 */
import { connect } from 'node:net';
import { TargetError, type FencepostError } from '../../domain/errors.ts';
import { displayEndpoint, displayTarget, type Endpoint, type Target } from '../../domain/target.ts';
import { sessionExpired } from './answers.ts';
import { JuteFrames, JuteReader, JuteWriter } from './jute.ts';
import { LeanConnection, type SessionIdentity } from './lean-connection.ts';

export interface Attachment {
  readonly target: Target;
  /** Undefined: begin a new one. */
  readonly session: SessionIdentity | undefined;
  /** Session timeout asked for, in ms; the server grants between 2 and 20 of its ticks. */
  readonly wishMs: number;
  /** A member that has not seen this transaction yet turns us away. */
  readonly lastZxid: bigint;
  /** Of this call, and of every request afterwards. */
  readonly requestTimeoutMs: number;
}

/**
 * Asks the members in their order until one takes us.
 * @throws {TargetError} `session-expired`; `target-unreachable` or `target-not-serving` when none
 *   takes us; `target-timeout` when one did not answer
 * @throws {PermissionError} the digest was refused
 */
export async function attach(attachment: Attachment): Promise<LeanConnection> {
  const { target, requestTimeoutMs } = attachment;
  const deadlineMs = performance.now() + requestTimeoutMs;
  let failure: FencepostError | undefined;
  for (const [index, endpoint] of target.endpoints.entries()) {
    const shareMs = (deadlineMs - performance.now()) / (target.endpoints.length - index);
    const opened = await open(endpoint, attachment, shareMs);
    if (opened instanceof LeanConnection) return authenticated(opened, target);
    // A member that was silent may have heard us: that is worse to know than any refusal.
    if (failure?.definite !== false) failure = opened;
    if (opened.code === 'session-expired') break;
  }
  throw failure ?? unreachable(target, 'no member is named');
}

async function authenticated(connection: LeanConnection, target: Target): Promise<LeanConnection> {
  if (target.username === undefined) return connection;
  try {
    await connection.authenticate(target.username, target.password?.reveal() ?? '');
    return connection;
  } catch (error) {
    connection.drop('authentication failed');
    throw error;
  }
}

/** Never rejects: a member that does not take us is an answer. */
function open(
  endpoint: Endpoint,
  attachment: Attachment,
  timeoutMs: number,
): Promise<LeanConnection | TargetError> {
  const { target } = attachment;
  return new Promise((resolve) => {
    const socket = connect({ host: endpoint.host, port: endpoint.port });
    socket.setNoDelay(true);
    const frames = new JuteFrames();
    let connection: LeanConnection | undefined;
    let asked = false;
    const refuse = (why: TargetError): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(why);
    };
    const timer = setTimeout(() => {
      const why = `${displayEndpoint(endpoint)} did not answer within ${Math.round(timeoutMs)} ms`;
      refuse(asked ? silent(target, why) : unreachable(target, why));
    }, timeoutMs);
    socket.on('connect', () => {
      asked = true;
      socket.write(connectRequest(attachment));
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (asked) return;
      const { code, message } = error;
      refuse(
        unreachable(target, code === 'ECONNREFUSED' ? 'connection refused' : (code ?? message)),
      );
    });
    socket.on('close', () => {
      refuse(notServing(target));
    });
    socket.on('data', (chunk: Buffer) => {
      for (const frame of frames.push(chunk)) {
        if (connection !== undefined) connection.receive(frame);
        else {
          const answer = connectResponse(frame);
          if (answer === undefined || answer.sessionTimeoutMs <= 0) {
            refuse(answer === undefined ? notServing(target) : sessionExpired(target));
            return;
          }
          clearTimeout(timer);
          connection = new LeanConnection(socket, { ...attachment, ...answer });
          resolve(connection);
        }
      }
    });
  });
}

function connectRequest({ session, wishMs, lastZxid }: Attachment): Buffer {
  const protocolVersion = 0;
  return new JuteWriter()
    .int(protocolVersion)
    .long(lastZxid)
    .int(Math.min(Math.round(wishMs), 2 ** 31 - 1))
    .long(session?.id ?? 0n)
    .bytes(session?.password ?? Buffer.alloc(16))
    .bool(false) // a read-only member is of no use to a lock
    .frame();
}

/** Undefined: this is no ZooKeeper. */
function connectResponse(
  frame: Buffer,
): { readonly session: SessionIdentity; readonly sessionTimeoutMs: number } | undefined {
  try {
    const reader = new JuteReader(frame);
    reader.int(); // protocol version
    const sessionTimeoutMs = reader.int();
    const id = BigInt.asUintN(64, reader.long());
    return { session: { id, password: Buffer.from(reader.bytes()) }, sessionTimeoutMs };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function unreachable(target: Target, why: string): TargetError {
  return new TargetError(`cannot reach ${displayTarget(target)}: ${why}`, {
    code: 'target-unreachable',
    hint: 'is the ensemble up, and are these the client ports? `fencepost lab up zookeeper` starts a throwaway one',
    definite: true,
  });
}

function silent(target: Target, why: string): TargetError {
  return new TargetError(`${displayTarget(target)} opened no session: ${why}`, {
    code: 'target-timeout',
    hint: 'is it overloaded, or without a quorum? look at `srvr` on each member',
  });
}

function notServing(target: Target): TargetError {
  return new TargetError(`${displayTarget(target)} accepts connections but opens no session`, {
    code: 'target-not-serving',
    hint: 'a member without a quorum does that: look at `srvr` on each member',
    definite: true,
  });
}
