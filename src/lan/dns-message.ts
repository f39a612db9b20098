/** Messages of multicast DNS (RFC 6762), as far as names of machines need them. */

export const recordTypes = { A: 1, AAAA: 28, ANY: 255 } as const;
const classIn = 1;
/** In questions: answer to the sender alone. In records: others of this name and type are no longer true. */
const topBit = 0x8000;

export interface Question {
  /** Lower-case, without the dot at the end. */
  readonly name: string;
  readonly type: number;
  /** Whether the answer should go to the sender alone. */
  readonly unicast?: boolean;
}

export interface DnsRecord {
  readonly name: string;
  readonly type: number;
  readonly ttl: number;
  readonly data: Buffer;
  /** Whether it replaces all others of its name and type. */
  readonly flush?: boolean;
}

export interface DnsMessage {
  readonly id: number;
  readonly isResponse: boolean;
  readonly questions: readonly Question[];
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
}

const headerBytes = 12;
const maxEntries = 128;
const maxNameBytes = 255;
const responseFlags = 0x8400;

/** Undefined for a message that is malformed, or larger than any that concerns us. */
export function decodeMessage(bytes: Buffer): DnsMessage | undefined {
  try {
    return new Reader(bytes).message();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Every read beyond the end is a RangeError, of Buffer too. */
class Reader {
  #at = 0;

  constructor(private readonly bytes: Buffer) {}

  message(): DnsMessage {
    const [id = 0, flags = 0, questions = 0, answers = 0, authorities = 0] = Array.from({ length: 5 }, () =>
      this.#uint16(),
    );
    this.#at = headerBytes;
    if (questions + answers + authorities > maxEntries) throw new RangeError('too many entries');
    return {
      id,
      isResponse: (flags & topBit) !== 0,
      questions: Array.from({ length: questions }, () => this.#question()),
      answers: Array.from({ length: answers }, () => this.#record()),
      authorities: Array.from({ length: authorities }, () => this.#record()),
    };
  }

  #question(): Question {
    const name = this.#name();
    const type = this.#uint16();
    return { name, type, unicast: (this.#uint16() & topBit) !== 0 };
  }

  #record(): DnsRecord {
    const name = this.#name();
    const type = this.#uint16();
    const flush = (this.#uint16() & topBit) !== 0;
    const ttl = this.#uint16() * 0x10000 + this.#uint16();
    const length = this.#uint16();
    if (this.#at + length > this.bytes.length) throw new RangeError('the data ends early');
    const data = this.bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return { name, type, flush, ttl, data };
  }

  #uint16(): number {
    const value = this.bytes.readUInt16BE(this.#at);
    this.#at += 2;
    return value;
  }

  /** A pointer leads only backwards, so that no message makes a loop. */
  #name(): string {
    const labels: string[] = [];
    let at = this.#at;
    let lowest = at;
    let end: number | undefined;
    let size = 0;
    for (;;) {
      const length = this.bytes.readUInt8(at);
      if (length >= 0xc0) {
        const target = this.bytes.readUInt16BE(at) & 0x3fff;
        if (target >= lowest) throw new RangeError('a pointer leads forwards');
        end ??= at + 2;
        lowest = target;
        at = target;
        continue;
      }
      if (length > 63) throw new RangeError('an unknown kind of label');
      at += 1 + length;
      if (length === 0) break;
      size += 1 + length;
      if (size > maxNameBytes || at > this.bytes.length) throw new RangeError('the name is too long');
      labels.push(this.bytes.toString('latin1', at - length, at));
    }
    this.#at = end ?? at;
    return labels.join('.').toLowerCase();
  }
}

export function encodeMessage({ id, isResponse, questions, answers, authorities }: DnsMessage): Buffer {
  const counts = [questions, answers, authorities, []].map(({ length }) => length);
  return Buffer.concat([
    uint16(id, isResponse ? responseFlags : 0, ...counts),
    ...questions.map(({ name, type, unicast }) =>
      Buffer.concat([encodeName(name), uint16(type, classIn | (unicast ? topBit : 0))]),
    ),
    ...[...answers, ...authorities].map(({ name, type, ttl, data, flush }) =>
      Buffer.concat([
        encodeName(name),
        uint16(type, classIn | (flush ? topBit : 0), Math.floor(ttl / 0x10000), ttl & 0xffff, data.length),
        data,
      ]),
    ),
  ]);
}

function encodeName(name: string): Buffer {
  const labels = name
    .split('.')
    .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function uint16(...values: readonly number[]): Buffer {
  return Buffer.from(values.flatMap((value) => [value >>> 8, value & 0xff]));
}
