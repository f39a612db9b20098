import { isObject } from '../core/json.ts';

/** A file in chunks of one size, the last one smaller, and how many bytes of each are there. */
export interface Chunks {
  readonly bytes: number;
  readonly size: number;
  readonly done: number[];
}

/** With the first bytes of the file, if there are some. */
export function chunksOf(bytes: number, size: number, have = 0): Chunks {
  const lengths = Array.from({ length: Math.ceil(bytes / size) }, (_, index) => lengthOf({ bytes, size }, index));
  return { bytes, size, done: lengths.map((length, index) => Math.min(length, Math.max(0, have - index * size))) };
}

export function lengthOf({ bytes, size }: Pick<Chunks, 'bytes' | 'size'>, index: number): number {
  return Math.min(size, bytes - index * size);
}

/** Bytes that are there. */
export function chunkBytes({ done }: Chunks): number {
  return done.reduce((sum, bytes) => sum + bytes, 0);
}

/** Undefined for what no chunks can be. */
export function readChunks(value: unknown): Chunks | undefined {
  if (!isObject(value)) return undefined;
  const { bytes, size, done } = value;
  if (!isCount(bytes) || !isCount(size) || size === 0 || !Array.isArray(done)) return undefined;
  const chunks = { bytes, size, done };
  const fits = done.every((one, index) => isCount(one) && one <= lengthOf(chunks, index));
  return fits && done.length === Math.ceil(bytes / size) ? chunks : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
