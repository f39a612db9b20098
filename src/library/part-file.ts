import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { checkVersion, NewerFile, versionKey } from '../core/file-version.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { DownloadError } from './transfer.ts';

/** What is known about a `.part` file. */
interface PartMark {
  /** Of the file that it is a part of: its expected hash, or its ETag. */
  readonly version: string;
  /** What of it is there, if it was downloaded in chunks; otherwise it is the beginning of the file. */
  readonly chunks?: Chunks | undefined;
}

/** The ETag alone in version 1, a JSON object since. A part with chunks cannot be read by programs that know version 2 only. */
const markOf = (part: string): string => `${part}.etag`;
const markVersion = 3;

/** Atomic, because a damaged mark would cost the whole part. */
export async function writeMark(part: string, { version, chunks }: PartMark): Promise<void> {
  const mark = chunks ? { [versionKey]: markVersion, etag: version, chunks } : { [versionKey]: 2, etag: version };
  await writeFile(`${markOf(part)}.new`, `${JSON.stringify(mark)}\n`, { flush: true });
  await rename(`${markOf(part)}.new`, markOf(part));
}

/** Undefined without a part that could be resumed. */
export async function readMark(part: string): Promise<PartMark | undefined> {
  if ((await sizeOf(part)) === 0) return undefined;
  const text = await readFile(markOf(part), 'utf8').catch(() => '');
  const mark = tryParseJson(text);
  if (!isObject(mark)) return text === '' ? undefined : { version: text };
  try {
    checkVersion(mark, markVersion);
  } catch (error) {
    if (error instanceof NewerFile) throw new DownloadError(`${part} is left alone: ${error.message}`);
    throw error;
  }
  const { etag, chunks } = mark;
  if (typeof etag !== 'string' || etag === '') return undefined;
  if (chunks === undefined) return { version: etag };
  const known = readChunks(chunks);
  return known && { version: etag, chunks: known };
}

/** Bytes of an interrupted download. */
export async function partBytes(target: string): Promise<number> {
  const part = `${target}.part`;
  const mark = await readMark(part).catch(() => undefined);
  return mark?.chunks ? chunkBytes(mark.chunks) : sizeOf(part);
}

/** Deletes what is left of an interrupted download. */
export async function deletePart(target: string): Promise<void> {
  const part = `${target}.part`;
  for (const path of [part, markOf(part), `${markOf(part)}.new`]) await rm(path, { force: true });
}

/** 0 for a file that is not there. */
export async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

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
