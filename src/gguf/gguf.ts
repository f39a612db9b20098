import { type FileHandle, open } from 'node:fs/promises';

/** Metadata value types: number in the file, width in bytes (0 if it varies), ending of the `read…` and `write…` methods of Buffer. */
export const valueTypes = {
  uint8: { id: 0, width: 1, method: 'UInt8' },
  int8: { id: 1, width: 1, method: 'Int8' },
  uint16: { id: 2, width: 2, method: 'UInt16LE' },
  int16: { id: 3, width: 2, method: 'Int16LE' },
  uint32: { id: 4, width: 4, method: 'UInt32LE' },
  int32: { id: 5, width: 4, method: 'Int32LE' },
  float32: { id: 6, width: 4, method: 'FloatLE' },
  bool: { id: 7, width: 1, method: 'UInt8' },
  string: { id: 8, width: 0, method: undefined },
  array: { id: 9, width: 0, method: undefined },
  uint64: { id: 10, width: 8, method: 'BigUInt64LE' },
  int64: { id: 11, width: 8, method: 'BigInt64LE' },
  float64: { id: 12, width: 8, method: 'DoubleLE' },
} as const;

export type ValueType = keyof typeof valueTypes;

/** Tensor types: number in the file, weights per block, bytes per block. */
export const tensorTypes = {
  F32: { id: 0, block: 1, bytes: 4 },
  F16: { id: 1, block: 1, bytes: 2 },
  Q4_0: { id: 2, block: 32, bytes: 18 },
  Q4_1: { id: 3, block: 32, bytes: 20 },
  Q5_0: { id: 6, block: 32, bytes: 22 },
  Q5_1: { id: 7, block: 32, bytes: 24 },
  Q8_0: { id: 8, block: 32, bytes: 34 },
  Q8_1: { id: 9, block: 32, bytes: 36 },
  Q2_K: { id: 10, block: 256, bytes: 84 },
  Q3_K: { id: 11, block: 256, bytes: 110 },
  Q4_K: { id: 12, block: 256, bytes: 144 },
  Q5_K: { id: 13, block: 256, bytes: 176 },
  Q6_K: { id: 14, block: 256, bytes: 210 },
  Q8_K: { id: 15, block: 256, bytes: 292 },
  IQ2_XXS: { id: 16, block: 256, bytes: 66 },
  IQ2_XS: { id: 17, block: 256, bytes: 74 },
  IQ3_XXS: { id: 18, block: 256, bytes: 98 },
  IQ1_S: { id: 19, block: 256, bytes: 50 },
  IQ4_NL: { id: 20, block: 32, bytes: 18 },
  IQ3_S: { id: 21, block: 256, bytes: 110 },
  IQ2_S: { id: 22, block: 256, bytes: 82 },
  IQ4_XS: { id: 23, block: 256, bytes: 136 },
  I8: { id: 24, block: 1, bytes: 1 },
  I16: { id: 25, block: 1, bytes: 2 },
  I32: { id: 26, block: 1, bytes: 4 },
  I64: { id: 27, block: 1, bytes: 8 },
  F64: { id: 28, block: 1, bytes: 8 },
  IQ1_M: { id: 29, block: 256, bytes: 56 },
  BF16: { id: 30, block: 1, bytes: 2 },
  TQ1_0: { id: 34, block: 256, bytes: 54 },
  TQ2_0: { id: 35, block: 256, bytes: 66 },
  MXFP4: { id: 39, block: 32, bytes: 17 },
  NVFP4: { id: 40, block: 64, bytes: 36 },
  Q1_0: { id: 41, block: 128, bytes: 18 },
} as const;

export type TensorType = keyof typeof tensorTypes;

const namesById = <Name extends string>(table: Readonly<Record<Name, { readonly id: number }>>) =>
  new Map(Object.entries<{ readonly id: number }>(table).map(([name, { id }]) => [id, name as Name]));
const valueTypesById: ReadonlyMap<number, ValueType> = namesById(valueTypes);
const tensorTypesById: ReadonlyMap<number, TensorType> = namesById(tensorTypes);

/** 64-bit integers are numbers where a number can hold them. */
export type GgufValue = number | bigint | boolean | string | GgufArray;

export interface GgufArray {
  readonly type: ValueType;
  readonly length: number;
  /** The first entries; all of them when there are `length`. */
  readonly values: readonly GgufValue[];
}

export interface GgufEntry {
  readonly type: ValueType;
  readonly value: GgufValue;
}

export interface GgufTensor {
  readonly name: string;
  /** The first dimension is contiguous in memory. */
  readonly shape: readonly number[];
  readonly type: TensorType;
  /** From the beginning of the data. */
  readonly offset: number;
  readonly elements: number;
  readonly bytes: number;
}

export interface GgufHeader {
  readonly path: string;
  readonly fileSize: number;
  readonly version: number;
  readonly architecture: string;
  readonly metadata: ReadonlyMap<string, GgufEntry>;
  readonly tensors: readonly GgufTensor[];
  readonly alignment: number;
  /** Where the weights begin. */
  readonly dataOffset: number;
}

export const defaultAlignment = 32;

export function aligned(position: number, alignment: number): number {
  return Math.ceil(position / alignment) * alignment;
}

/** The size of the weights; undefined if the shape does not fit the blocks of the type. */
export function tensorBytes(type: TensorType, shape: readonly number[]): number | undefined {
  const { block, bytes } = tensorTypes[type];
  const [row = 1, ...rest] = shape;
  return row % block === 0 ? rest.reduce((total, size) => total * size, (row / block) * bytes) : undefined;
}

export function textOf(header: Pick<GgufHeader, 'metadata'>, key: string): string | undefined {
  const value = header.metadata.get(key)?.value;
  return typeof value === 'string' ? value : undefined;
}

export function numberOf(header: Pick<GgufHeader, 'metadata'>, key: string): number | undefined {
  const value = header.metadata.get(key)?.value;
  return typeof value === 'number' ? value : undefined;
}

/** Not a GGUF file, or a damaged one. The message is one sentence for people, without the path. */
export class GgufError extends Error {
  override readonly name = 'GgufError';
}

const magic = 'GGUF';
const maxNameBytes = 65_535;
/** The minimum size of a metadata entry and of a tensor description, to reject absurd counts. */
const minEntryBytes = 13;
const minTensorBytes = 32;
const maxDimensions = 4;

/** Bytes of a file, here or on another machine. */
export interface ByteSource {
  /** Of the whole file. */
  readonly size: number;
  /** How many bytes are read at once, unless more are needed. */
  readonly step: number;
  /** Fewer bytes only at the end of the file. */
  read(position: number, length: number): Promise<Buffer>;
}

/** Reads a GGUF header (version 2 or 3), with the first `arrayEntries` entries of each array. Throws a GgufError for a damaged file. */
export async function readGguf(path: string, { arrayEntries = 16 } = {}): Promise<GgufHeader> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    return { path, ...(await readGgufHeader(fileBytes(file, size), { arrayEntries })) };
  } finally {
    await file.close();
  }
}

function fileBytes(file: FileHandle, size: number): ByteSource {
  const read = async (position: number, length: number) => {
    const buffer = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return buffer.subarray(0, filled);
  };
  return { size, step: 1 << 18, read };
}

/** The same from any source of bytes, without a path. */
export async function readGgufHeader(
  source: ByteSource,
  { arrayEntries = 16 } = {},
): Promise<Omit<GgufHeader, 'path'>> {
  const cursor = new Cursor(source);
  const version = await readVersion(cursor);
  const tensorCount = await cursor.count('the number of tensors');
  const entryCount = await cursor.count('the number of metadata entries');
  if (tensorCount * minTensorBytes + entryCount * minEntryBytes > cursor.left) {
    const counts = `${tensorCount} tensors and ${entryCount} metadata entries`;
    throw new GgufError(`The file is cut off or damaged: ${cursor.size} bytes cannot hold ${counts}.`);
  }

  const metadata = new Map<string, GgufEntry>();
  for (let index = 0; index < entryCount; index += 1) {
    const key = await cursor.text('a metadata key', maxNameBytes);
    if (metadata.has(key)) throw damaged(`${key} occurs twice`);
    const what = key === '' ? 'a metadata value' : key;
    const type = await readType(cursor, what);
    metadata.set(key, { type, value: await readValue(cursor, type, what, arrayEntries, 0) });
  }
  const architecture = metadata.get('general.architecture')?.value;
  if (typeof architecture !== 'string' || architecture === '') {
    throw new GgufError('The file does not say which architecture its model has (general.architecture).');
  }
  const alignment = alignmentOf(metadata);
  const tensors = new Map<string, GgufTensor>();
  for (let index = 0; index < tensorCount; index += 1) {
    const tensor = await readTensor(cursor, alignment);
    if (tensors.has(tensor.name)) throw damaged(`the tensor ${tensor.name} occurs twice`);
    tensors.set(tensor.name, tensor);
  }
  const dataOffset = aligned(cursor.position, alignment);
  for (const { name, offset, bytes } of tensors.values()) {
    const end = dataOffset + offset + bytes;
    if (end > cursor.size) {
      throw new GgufError(`The file is cut off: the tensor ${name} ends at ${end} of ${cursor.size} bytes.`);
    }
  }
  const { size: fileSize } = source;
  return { fileSize, version, architecture, metadata, tensors: [...tensors.values()], alignment, dataOffset };
}

async function readVersion(cursor: Cursor): Promise<number> {
  if (cursor.size < 24) throw new GgufError(`This is no GGUF file: it has only ${cursor.size} bytes.`);
  const start = (await cursor.take(4, 'the beginning')).toString('latin1');
  if (start !== magic) throw new GgufError(`This is no GGUF file: it begins with ${JSON.stringify(start)}.`);
  const version = await cursor.uint32('the version');
  if (version === 2 || version === 3) return version;
  if (version !== 0 && (version & 0xffff) === 0) {
    throw new GgufError('The file is written for big-endian machines, which is not supported.');
  }
  throw new GgufError(`The file has GGUF version ${version}; versions 2 and 3 can be read.`);
}

function alignmentOf(metadata: ReadonlyMap<string, GgufEntry>): number {
  const alignment = metadata.get('general.alignment')?.value ?? defaultAlignment;
  const isPower = typeof alignment === 'number' && Number.isInteger(Math.log2(alignment)) && alignment <= 1 << 20;
  if (!isPower) throw damaged('general.alignment is no power of two');
  return alignment;
}

async function readTensor(cursor: Cursor, alignment: number): Promise<GgufTensor> {
  const name = await cursor.text('the name of a tensor', maxNameBytes);
  const what = `the tensor ${name}`;
  const dimensions = await cursor.uint32(what);
  if (dimensions > maxDimensions) throw damaged(`${what} has ${dimensions} dimensions`);
  const shape: number[] = [];
  for (let index = 0; index < dimensions; index += 1) shape.push(await cursor.count(what));
  const id = await cursor.uint32(what);
  const offset = await cursor.count(`the offset of ${what}`);

  const type = tensorTypesById.get(id);
  if (type === undefined)
    throw new GgufError(`The file has a tensor type that is not known here: ${what} has type ${id}.`);
  const elements = shape.reduce((product, length) => product * length, 1);
  const bytes = tensorBytes(type, shape);
  if (bytes === undefined || !Number.isSafeInteger(elements)) {
    throw damaged(`${what} cannot have the shape ${shape.join(' × ')} as ${type}`);
  }
  if (offset % alignment !== 0) throw damaged(`${what} does not begin at a multiple of ${alignment}`);
  return { name, shape, type, offset, elements, bytes };
}

const maxTextBytes = 64 << 20;
const maxArrayDepth = 4;

async function readType(cursor: Cursor, what: string): Promise<ValueType> {
  const id = await cursor.uint32(`the type of ${what}`);
  const type = valueTypesById.get(id);
  if (type === undefined) throw damaged(`${what} has the unknown value type ${id}`);
  return type;
}

async function readValue(cursor: Cursor, type: ValueType, what: string, arrayEntries: number, depth: number) {
  if (type === 'string') return cursor.text(what, maxTextBytes);
  if (type === 'array') return readArray(cursor, what, arrayEntries, depth);
  return decode(await cursor.take(valueTypes[type].width, what), type, what);
}

async function readArray(cursor: Cursor, what: string, arrayEntries: number, depth: number): Promise<GgufArray> {
  if (depth >= maxArrayDepth) throw damaged(`${what} is nested too deep`);
  const type = await readType(cursor, what);
  const length = await cursor.count(`the length of ${what}`);
  const { width } = valueTypes[type];
  // A text takes 8 bytes at least, an array 12: a length that cannot fit is damage and not worth walking through.
  if (length * (width || 8) > cursor.left) {
    throw new GgufError(`The file is cut off or damaged: ${what} claims ${length} entries.`);
  }
  const values: GgufValue[] = [];
  const read = Math.min(arrayEntries, length);
  for (let index = 0; index < read; index += 1)
    values.push(await readValue(cursor, type, what, arrayEntries, depth + 1));
  if (width > 0) cursor.skip((length - read) * width, what);
  else if (type === 'string') await skipTexts(cursor, length - read, what);
  else for (let index = read; index < length; index += 1) await readArray(cursor, what, 0, depth + 1);
  return { type, length, values };
}

/** Vocabularies have hundreds of thousands of texts: those in the buffer are skipped without waiting. */
async function skipTexts(cursor: Cursor, count: number, what: string): Promise<void> {
  for (let left = count - cursor.skipBuffered(count); left > 0; left -= 1 + cursor.skipBuffered(left - 1)) {
    cursor.skip(await cursor.count(what), what);
  }
}

function decode(bytes: Buffer, type: ValueType, what: string): GgufValue {
  const { method } = valueTypes[type];
  if (method === undefined) throw new RangeError(`${type} has no fixed width`);
  const value = bytes[`read${method}`]();
  if (type === 'bool' && value > 1) throw damaged(`${what} is neither true nor false`);
  if (type === 'bool') return value === 1;
  return typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** Reads a file in steps. Checks first that the bytes exist: a damaged length must not ask for more memory. */
class Cursor {
  #buffer: Buffer = Buffer.alloc(0);
  #start = 0;
  #at = 0;

  constructor(private readonly source: ByteSource) {}

  get size(): number {
    return this.source.size;
  }

  get position(): number {
    return this.#start + this.#at;
  }

  get left(): number {
    return this.size - this.position;
  }

  /** The next `length` bytes, valid until the next read. */
  async take(length: number, what: string): Promise<Buffer> {
    if (!this.#has(length)) await this.#fill(length, what);
    const bytes = this.#buffer.subarray(this.#at, this.#at + length);
    this.#at += length;
    return bytes;
  }

  /** Skips at most `max` texts, as far as they are in the buffer; returns their number. */
  skipBuffered(max: number): number {
    let skipped = 0;
    while (skipped < max && this.#has(8)) {
      const length = this.#buffer.readUInt32LE(this.#at) + this.#buffer.readUInt32LE(this.#at + 4) * 2 ** 32;
      if (!this.#has(8 + length)) break;
      this.#at += 8 + length;
      skipped += 1;
    }
    return skipped;
  }

  skip(length: number, what: string): void {
    this.#need(length, what);
    this.#at += length;
  }

  async uint32(what: string): Promise<number> {
    return (await this.take(4, what)).readUInt32LE();
  }

  /** A 64-bit count or offset; none that a number cannot hold is sensible. */
  async count(what: string): Promise<number> {
    const value = (await this.take(8, what)).readBigUInt64LE();
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw damaged(`${what} claims ${value}`);
    return Number(value);
  }

  async text(what: string, maxBytes: number): Promise<string> {
    const length = await this.count(what);
    if (length > maxBytes) throw damaged(`${what} claims ${length} bytes`);
    return (await this.take(length, what)).toString('utf8');
  }

  #has(length: number): boolean {
    return this.#at + length <= this.#buffer.length;
  }

  #need(length: number, what: string): void {
    if (length > this.left) throw new GgufError(`The file is cut off or damaged: it ends within ${what}.`);
  }

  async #fill(length: number, what: string): Promise<void> {
    this.#need(length, what);
    const position = this.position;
    const buffer = await this.source.read(position, Math.min(Math.max(length, this.source.step), this.left));
    if (buffer.length < length) throw new GgufError(`The file is cut off or damaged: it ends within ${what}.`);
    this.#buffer = buffer;
    this.#start = position;
    this.#at = 0;
  }
}

function damaged(what: string): GgufError {
  return new GgufError(`The file is damaged: ${what}.`);
}
