/**
 * Where a request or reply begins and ends on the wire, so that a proxy can drop exactly one.
 * Splitters keep the bytes of an unfinished frame; they never change or reorder bytes.
 */

export interface FrameSplitter {
  /** The frames that this chunk finished, each with all its bytes. */
  push(chunk: Uint8Array): readonly Buffer[];
}

export interface Framing {
  readonly id: 'resp' | 'zookeeper' | 'lines' | 'raw';
  splitter(): FrameSplitter;
  /**
   * Key by which a reply finds its request; equal keys pair in order. Undefined: a frame that
   * answers nothing (push message, watch event).
   */
  pairKey(frame: Buffer, way: 'to-server' | 'to-worker'): string | undefined;
  /**
   * Clients of this protocol take replies in order: once one is missing, every later reply on that
   * connection would be taken for another's, so none may pass.
   */
  readonly inOrder: boolean;
}

/** Splits by a function that finds the end of the first frame, or undefined if it is not all there. */
function splitterBy(frameEnd: (bytes: Buffer) => number | undefined): FrameSplitter {
  let rest: Buffer = Buffer.alloc(0);
  return {
    push(chunk) {
      rest = Buffer.concat([rest, chunk]);
      const frames: Buffer[] = [];
      for (let end = frameEnd(rest); end !== undefined; end = frameEnd(rest)) {
        frames.push(rest.subarray(0, end));
        rest = rest.subarray(end);
      }
      return frames;
    },
  };
}

/** How many further values a RESP header announces, and how many bytes of its own follow it. */
function respBody(
  type: string,
  count: number,
): { readonly values: number; readonly bytes: number } {
  if (type === '$' || type === '=' || type === '!') {
    return { values: 0, bytes: count >= 0 ? count + 2 : 0 };
  }
  const values = Number.isInteger(count) && count > 0 ? count : 0;
  if (type === '*' || type === '~' || type === '>') return { values, bytes: 0 };
  if (type === '%') return { values: 2 * values, bytes: 0 };
  // Attributes stand before the value they describe.
  if (type === '|') return { values: 2 * values + 1, bytes: 0 };
  return { values: 0, bytes: 0 };
}

/** @see the RESP2 and RESP3 specifications: every value opens with a type and ends its header by CRLF */
function respEnd(bytes: Buffer): number | undefined {
  let at = 0;
  for (let pending = 1; pending > 0; pending -= 1) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const type = bytes.toString('latin1', at, at + 1);
    const body = respBody(type, Number(bytes.toString('latin1', at + 1, lineEnd)));
    at = lineEnd + 2 + body.bytes;
    pending += body.values;
    if (at > bytes.length) return undefined;
  }
  return at;
}

export const respFraming: Framing = {
  id: 'resp',
  splitter: () => splitterBy(respEnd),
  pairKey: (frame) => (frame.toString('latin1', 0, 1) === '>' ? undefined : ''),
  inOrder: true,
};

/** Length prefix of four bytes, as in ZooKeeper. */
function prefixedEnd(bytes: Buffer): number | undefined {
  if (bytes.length < 4) return undefined;
  const end = 4 + bytes.readInt32BE(0);
  return end >= 4 && end <= bytes.length ? end : undefined;
}

const watchEventXid = -1;

export const zooKeeperFraming: Framing = {
  id: 'zookeeper',
  splitter: () => splitterBy(prefixedEnd),
  /** The connect request and its response both open with protocol version 0: they pair as well. */
  pairKey(frame) {
    const xid = frame.length >= 8 ? frame.readInt32BE(4) : 0;
    return xid === watchEventXid ? undefined : String(xid);
  },
  inOrder: true,
};

/** A gRPC message inside an HTTP/2 stream: a flag, four bytes of length, the message. */
function grpcEnd(bytes: Buffer): number | undefined {
  if (bytes.length < 5) return undefined;
  const end = 5 + bytes.readUInt32BE(1);
  return end <= bytes.length ? end : undefined;
}

/** Messages of one direction of one gRPC call. */
export function grpcSplitter(): FrameSplitter {
  return splitterBy(grpcEnd);
}

function lineFrameEnd(bytes: Buffer): number | undefined {
  const at = bytes.indexOf(0x0a);
  return at === -1 ? undefined : at + 1;
}

/** JSON lines of the business resource: replies in order, and matched by their id. */
export const linesFraming: Framing = {
  id: 'lines',
  splitter: () => splitterBy(lineFrameEnd),
  pairKey: () => '',
  inOrder: false,
};

/** Bytes as they come, for protocols whose frames we cannot read: cuts and delays only. */
export const rawFraming: Framing = {
  id: 'raw',
  splitter: () => ({ push: (chunk) => [Buffer.from(chunk)] }),
  pairKey: () => undefined,
  inOrder: true,
};
