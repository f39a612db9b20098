/**
 * The wire format of protocol buffers, as far as ONNX files need it: whole numbers, pieces of bytes and the two plain sizes.
 * A message is the list of its fields; what one does not know is carried along as it is.
 */
export type Field =
  | { readonly number: number; readonly type: 'whole'; readonly value: bigint }
  | { readonly number: number; readonly type: 'bytes'; readonly value: Uint8Array }
  /** Four or eight bytes that are no piece of their own. */
  | { readonly number: number; readonly type: 'plain'; readonly value: Uint8Array };

const wire = { whole: 0, eight: 1, bytes: 2, four: 5 };

/** Pieces of bytes are views of the message, not copies. Throws for what is no message. */
export function readMessage(message: Uint8Array): Field[] {
  const reader = new Reader(message);
  const fields: Field[] = [];
  while (!reader.atEnd) {
    const key = Number(reader.whole());
    const number = Math.floor(key / 8);
    if (number < 1) throw new Error('a field of the file has no number');
    switch (key % 8) {
      case wire.whole:
        fields.push({ number, type: 'whole', value: reader.whole() });
        break;
      case wire.bytes:
        fields.push({ number, type: 'bytes', value: reader.bytes(Number(reader.whole())) });
        break;
      case wire.eight:
        fields.push({ number, type: 'plain', value: reader.bytes(8) });
        break;
      case wire.four:
        fields.push({ number, type: 'plain', value: reader.bytes(4) });
        break;
      default:
        throw new Error(`a field of the file has the unknown form ${key % 8}`);
    }
  }
  return fields;
}

export function writeMessage(fields: readonly Field[]): Uint8Array {
  return Buffer.concat(fields.flatMap(written));
}

function written({ number, type, value }: Field): readonly Uint8Array[] {
  switch (type) {
    case 'whole':
      return [varint(number * 8 + wire.whole), varint(value)];
    case 'bytes':
      return [varint(number * 8 + wire.bytes), varint(value.length), value];
    case 'plain':
      return [varint(number * 8 + (value.length === 8 ? wire.eight : wire.four)), value];
  }
}

export function whole(number: number, value: number | bigint): Field {
  return { number, type: 'whole', value: BigInt.asUintN(64, BigInt(value)) };
}

export function bytes(number: number, value: Uint8Array): Field {
  return { number, type: 'bytes', value };
}

export function text(number: number, value: string): Field {
  return bytes(number, Buffer.from(value));
}

export function inner(number: number, fields: readonly Field[]): Field {
  return bytes(number, writeMessage(fields));
}

export function textOf(value: Uint8Array): string {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString();
}

class Reader {
  #place = 0;

  constructor(private readonly message: Uint8Array) {}

  get atEnd(): boolean {
    return this.#place >= this.message.length;
  }

  whole(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.message[this.#place++];
      if (byte === undefined) throw new Error('the file ends in the middle of a number');
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw new Error('a number of the file has no end');
  }

  bytes(length: number): Uint8Array {
    const end = this.#place + length;
    if (end > this.message.length) throw new Error('the file ends in the middle of a field');
    const found = this.message.subarray(this.#place, end);
    this.#place = end;
    return found;
  }
}

function varint(value: number | bigint): Uint8Array {
  const found: number[] = [];
  let rest = BigInt(value);
  for (; rest > 127n; rest >>= 7n) found.push(Number(rest & 127n) | 128);
  found.push(Number(rest));
  return Uint8Array.from(found);
}
