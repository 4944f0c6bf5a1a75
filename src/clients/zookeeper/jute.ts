/**
 * Jute, ZooKeeper's serialisation: big-endian numbers, and byte strings behind their length. Only
 * the records that `LeanConnection` exchanges.
 * @see apache/zookeeper zookeeper-jute/src/main/resources/zookeeper.jute
 */
import type { NodeStat } from './session.ts';

/** Builds one frame: a length, then what is written. */
export class JuteWriter {
  readonly #parts: Buffer[] = [];

  int(value: number): this {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(value);
    this.#parts.push(bytes);
    return this;
  }

  long(value: bigint): this {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64BE(BigInt.asIntN(64, value));
    this.#parts.push(bytes);
    return this;
  }

  bool(value: boolean): this {
    this.#parts.push(Buffer.of(value ? 1 : 0));
    return this;
  }

  bytes(value: Uint8Array): this {
    this.int(value.length);
    this.#parts.push(Buffer.from(value));
    return this;
  }

  string(value: string): this {
    return this.bytes(Buffer.from(value, 'utf8'));
  }

  frame(): Buffer {
    const body = Buffer.concat(this.#parts);
    const length = Buffer.alloc(4);
    length.writeInt32BE(body.length);
    return Buffer.concat([length, body]);
  }
}

/** Reads what one frame holds behind its length. @throws {RangeError} when there is less than asked for */
export class JuteReader {
  readonly #bytes: Buffer;
  #at = 4;

  constructor(frame: Buffer) {
    this.#bytes = frame;
  }

  int(): number {
    const value = this.#bytes.readInt32BE(this.#at);
    this.#at += 4;
    return value;
  }

  long(): bigint {
    const value = this.#bytes.readBigInt64BE(this.#at);
    this.#at += 8;
    return value;
  }

  /** A length of -1, ZooKeeper's null, gives an empty value. */
  bytes(): Buffer {
    const length = Math.max(0, this.int());
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError('the frame ends inside a value');
    const value = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return value;
  }

  string(): string {
    return this.bytes().toString('utf8');
  }

  strings(): string[] {
    const count = this.int();
    const list: string[] = [];
    while (list.length < count) list.push(this.string());
    return list;
  }

  stat(): NodeStat {
    const [czxid, mzxid, ctime] = [this.long(), this.long(), this.long()];
    this.long(); // time of the last change
    const [version, cversion] = [this.int(), this.int()];
    this.int(); // version of the ACL
    const ephemeralOwner = BigInt.asUintN(64, this.long());
    const [dataLength, numChildren] = [this.int(), this.int()];
    const pzxid = this.long();
    return {
      czxid,
      mzxid,
      pzxid,
      ctimeMs: Number(ctime),
      version,
      cversion,
      ephemeralOwner,
      dataLength,
      numChildren,
    };
  }
}

/** Cuts a byte stream into frames. */
export class JuteFrames {
  #rest: Buffer = Buffer.alloc(0);

  /** The frames that this chunk finished, each with its length in front. */
  push(chunk: Buffer): readonly Buffer[] {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    const frames: Buffer[] = [];
    while (this.#rest.length >= 4) {
      const end = 4 + Math.max(0, this.#rest.readInt32BE(0));
      if (this.#rest.length < end) break;
      frames.push(this.#rest.subarray(0, end));
      this.#rest = this.#rest.subarray(end);
    }
    return frames;
  }
}
