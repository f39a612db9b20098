import type { Tensor } from './session.ts';

/** An ONNX graph; nodes in order of computation. */
export interface Network {
  readonly nodes: readonly Node[];
  readonly weights: Readonly<Record<string, Tensor>>;
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
}

export interface Node {
  readonly operation: string;
  /** An empty name omits an input. */
  readonly inputs: readonly string[];
  readonly output: string;
  readonly attributes?: Readonly<Record<string, number | readonly number[] | string>>;
}

export interface Port {
  readonly name: string;
  /** A name is a dynamic dimension. */
  readonly shape: readonly (number | string)[];
}

const operatorVersion = 13;
const fileVersion = 8;
const float32 = 1;
const attributeType = { whole: 2, text: 3, wholes: 7 };

/** Attributes are integers, weights 32-bit floats. */
export function writeModel({ nodes, weights, inputs, outputs }: Network): Uint8Array {
  const graph = [
    ...nodes.map((node) => inner(1, nodeFields(node))),
    text(2, 'network'),
    ...Object.entries(weights).map(([name, tensor]) => inner(5, weightFields(name, tensor))),
    ...inputs.map((port) => inner(11, portFields(port))),
    ...outputs.map((port) => inner(12, portFields(port))),
  ];
  return writeMessage([whole(1, fileVersion), inner(7, graph), inner(8, [text(1, ''), whole(2, operatorVersion)])]);
}

function nodeFields({ operation, inputs, output, attributes = {} }: Node): Field[] {
  return [
    ...inputs.map((name) => text(1, name)),
    text(2, output),
    text(3, output),
    text(4, operation),
    ...Object.entries(attributes).map(([name, value]) => inner(5, [text(1, name), ...attributeFields(value)])),
  ];
}

function attributeFields(value: number | readonly number[] | string): Field[] {
  if (typeof value === 'string') return [text(4, value), whole(20, attributeType.text)];
  if (typeof value === 'number') return [whole(3, value), whole(20, attributeType.whole)];
  return [...value.map((one) => whole(8, one)), whole(20, attributeType.wholes)];
}

function weightFields(name: string, { data, shape }: Tensor): Field[] {
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return [...shape.map((length) => whole(1, length)), whole(2, float32), text(8, name), bytes(9, raw)];
}

function portFields({ name, shape }: Port): Field[] {
  const lengths = shape.map((length) => inner(1, [typeof length === 'string' ? text(2, length) : whole(1, length)]));
  return [text(1, name), inner(2, [inner(1, [whole(1, float32), inner(2, lengths)])])];
}

/** A field of a protocol buffers message: a varint, bytes with their length, or a fixed size. */
export type Field =
  | { readonly number: number; readonly type: 'whole'; readonly value: bigint }
  | { readonly number: number; readonly type: 'bytes'; readonly value: Uint8Array }
  /** Four or eight bytes. */
  | { readonly number: number; readonly type: 'plain'; readonly value: Uint8Array };

const wire = { whole: 0, eight: 1, bytes: 2, four: 5 };

/** Reads the number of the field at the start of these bytes, and where its value lies. A varint is part of the head. */
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

function varint(value: number | bigint): Uint8Array {
  const found: number[] = [];
  let rest = BigInt(value);
  for (; rest > 127n; rest >>= 7n) found.push(Number(rest & 127n) | 128);
  found.push(Number(rest));
  return Uint8Array.from(found);
}
