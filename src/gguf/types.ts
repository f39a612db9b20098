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

/** The kinds of tensors: their number in the file, and how many bytes hold how many weights. */
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
export const valueTypesById: ReadonlyMap<number, ValueType> = namesById(valueTypes);
export const tensorTypesById: ReadonlyMap<number, TensorType> = namesById(tensorTypes);

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

/** How many bytes the weights take, or undefined when the shape does not fit the blocks of the type. */
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
