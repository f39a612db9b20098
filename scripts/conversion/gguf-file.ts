import { open } from 'node:fs/promises';
import {
  aligned,
  defaultAlignment,
  type GgufEntry,
  type GgufValue,
  type TensorType,
  tensorBytes,
  tensorTypes,
  type ValueType,
  valueTypes,
} from '../../src/gguf/gguf.ts';

export interface TensorSource {
  readonly name: string;
  readonly shape: readonly number[];
  readonly type: TensorType;
  /** The weights as stored in the file, at once or in pieces. */
  readonly data: ArrayBufferView | (() => Iterable<Uint8Array>);
}

export interface GgufContent {
  readonly metadata: Readonly<Record<string, GgufEntry>>;
  readonly tensors: readonly TensorSource[];
}

/** Writes a GGUF file of version 3. Resolves to its size in bytes. */
export async function writeGguf(path: string, content: GgufContent): Promise<number> {
  const alignment = alignmentOf(content);
  const header = encodeHeader(content);
  const file = await open(path, 'w');
  try {
    let position = 0;
    const put = async (bytes: Uint8Array) => {
      await file.writeFile(bytes);
      position += bytes.byteLength;
    };
    const pad = () => put(new Uint8Array(aligned(position, alignment) - position));
    await put(header);
    await pad();
    for (const tensor of content.tensors) {
      const before = position;
      const { data } = tensor;
      const bytesOf = (view: ArrayBufferView) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
      for (const chunk of typeof data === 'function' ? data() : [bytesOf(data)]) await put(chunk);
      if (position - before !== sizeOf(tensor)) {
        throw new RangeError(`${tensor.name} needs ${sizeOf(tensor)} bytes and got ${position - before}`);
      }
      await pad();
    }
    return position;
  } finally {
    await file.close();
  }
}

/** Everything before the weights, without the padding that follows. */
export function encodeHeader(content: GgufContent): Buffer {
  const alignment = alignmentOf(content);
  const entries = Object.entries(content.metadata);
  const header = [Buffer.from('GGUF'), uint32(3), uint64(content.tensors.length), uint64(entries.length)];
  for (const [key, { type, value }] of entries) {
    header.push(text(key), uint32(valueTypes[type].id), encodeValue(type, value));
  }
  let offset = 0;
  for (const tensor of content.tensors) {
    const { name, shape, type } = tensor;
    header.push(text(name), uint32(shape.length), ...shape.map(uint64), uint32(tensorTypes[type].id), uint64(offset));
    offset = aligned(offset + sizeOf(tensor), alignment);
  }
  return Buffer.concat(header);
}

/** The entry for an array of values of one type. */
export function arrayEntry(type: ValueType, values: readonly GgufValue[]): GgufEntry {
  return { type: 'array', value: { type, length: values.length, values } };
}

function encodeValue(type: ValueType, value: GgufValue): Buffer {
  if (typeof value === 'object') {
    if (type !== 'array' || value.values.length !== value.length)
      throw new RangeError('only a whole array can be written');
    const head = [uint32(valueTypes[value.type].id), uint64(value.length)];
    return Buffer.concat([...head, ...value.values.map((entry) => encodeValue(value.type, entry))]);
  }
  if (type === 'string') return text(String(value));
  const { width, method } = valueTypes[type];
  const bytes = Buffer.alloc(width);
  if (method === 'BigUInt64LE' || method === 'BigInt64LE') bytes[`write${method}`](BigInt(value));
  else if (method) bytes[`write${method}`](Number(value));
  return bytes;
}

function alignmentOf({ metadata }: GgufContent): number {
  return Number(metadata['general.alignment']?.value ?? defaultAlignment);
}

function sizeOf({ name, type, shape }: TensorSource): number {
  const bytes = tensorBytes(type, shape);
  if (bytes === undefined) throw new RangeError(`${name} cannot have the shape ${shape.join(' × ')} as ${type}`);
  return bytes;
}

const uint32 = (value: number): Buffer => encodeValue('uint32', value);
const uint64 = (value: number): Buffer => encodeValue('uint64', value);
const text = (value: string): Buffer => Buffer.concat([uint64(Buffer.byteLength(value)), Buffer.from(value)]);
