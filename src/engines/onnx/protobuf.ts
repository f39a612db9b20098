/** A field of a protocol buffers message: a varint, bytes with their length, or a fixed size. */
export type Field =
  | { readonly number: number; readonly type: 'whole'; readonly value: bigint }
  | { readonly number: number; readonly type: 'bytes'; readonly value: Uint8Array }
  /** Four or eight bytes. */
  | { readonly number: number; readonly type: 'plain'; readonly value: Uint8Array };

const wire = { whole: 0, eight: 1, bytes: 2, four: 5 };

/** Reads the number of the field at the start of these bytes, and the position of its value. A varint is part of the head. */
export function readFieldHead(bytes: Uint8Array) {
  let start = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[start++];
      if (byte === undefined) throw new Error('the file ends in the middle of a number');
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw new Error('a number of the file has no end');
  };
  const key = Number(varint());
  const number = Math.floor(key / 8);
  if (number < 1) throw new Error('a field of the file has no number');
  switch (key % 8) {
    case wire.whole:
      return { number, type: 'whole', varint: varint(), length: 0, start } as const;
    case wire.bytes:
      return { number, type: 'bytes', length: Number(varint()), start } as const;
    case wire.eight:
      return { number, type: 'plain', length: 8, start } as const;
    case wire.four:
      return { number, type: 'plain', length: 4, start } as const;
    default:
      throw new Error(`a field of the file has the unknown form ${key % 8}`);
  }
}

/** Bytes are views of the message, not copies. Throws for an invalid message. */
export function readMessage(message: Uint8Array): Field[] {
  const fields: Field[] = [];
  for (let at = 0; at < message.length; ) {
    const { number, start, length, ...head } = readFieldHead(message.subarray(at));
    const end = at + start + length;
    if (end > message.length) throw new Error('the file ends in the middle of a field');
    const value = message.subarray(at + start, end);
    fields.push(head.type === 'whole' ? { number, type: 'whole', value: head.varint } : { number, ...head, value });
    at = end;
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
      return [...headOf(number, value.length), value];
    case 'plain':
      return [varint(number * 8 + (value.length === 8 ? wire.eight : wire.four)), value];
  }
}

/** Number and length of a field, which precede its bytes. */
export function headOf(number: number, length: number): Uint8Array[] {
  return [varint(number * 8 + wire.bytes), varint(length)];
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

function varint(value: number | bigint): Uint8Array {
  const encoded: number[] = [];
  let rest = BigInt(value);
  for (; rest > 127n; rest >>= 7n) encoded.push(Number(rest & 127n) | 128);
  encoded.push(Number(rest));
  return Uint8Array.from(encoded);
}
