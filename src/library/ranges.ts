import { constants, type FileHandle, open } from 'node:fs/promises';
import { type Chunks, chunkBytes, chunksOf, lengthOf, readMark, sizeOf, writeMark } from './part-file.ts';
import { DownloadError, type Outcome, receive, requestRange, type TransferDeps, withRetries } from './transfer.ts';

/** One file, known by its hash and size. */
interface KnownFile {
  readonly url: string;
  readonly part: string;
  /** SHA-256 in hex. */
  readonly hash: string;
  readonly bytes: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface RangeDeps extends TransferDeps {
  readonly progress: (done: number, total: number | undefined) => void;
  /** Smaller files than two of these come over one connection. */
  readonly chunkBytes?: number;
}

/** A server may limit the speed of a connection; more of them than this rarely help. */
const connections = 4;
const minChunk = 32 * 2 ** 20;
/** Each chunk is a request to the hub. */
const maxChunks = 64;
/** How often progress is written to the mark. */
const saveMs = 1000;

/** The server sends the whole file only. */
class RangesRefused extends Error {}

/**
 * What is there of a file that is to be downloaded over several connections; undefined if it is not worth it, or if it was begun in a way that
 * only one connection can continue.
 */
export async function plannedChunks(file: Omit<KnownFile, 'url'>, deps: RangeDeps): Promise<Chunks | undefined> {
  const { part, hash, bytes } = file;
  const size = deps.chunkBytes ?? Math.max(minChunk, Math.ceil(bytes / maxChunks));
  if (bytes < 2 * size) return undefined;
  const mark = await readMark(part);
  if (mark?.version === hash) {
    if (mark.chunks?.bytes === bytes) return mark.chunks;
    if (!mark.chunks) return chunksOf(bytes, size, await sizeOf(part));
  }
  // A part of a file that has changed cannot be resumed. Without a hash only the server knows whether it has.
  return mark && !mark.chunks && !/^[0-9a-f]{64}$/.test(mark.version) ? undefined : chunksOf(bytes, size);
}

/** Downloads the missing parts of a file over several connections. False if the server sends the whole file only. */
export async function fetchChunks(file: KnownFile, chunks: Chunks, deps: RangeDeps): Promise<boolean> {
  const stop = new AbortController();
  const signal = deps.signal ? AbortSignal.any([deps.signal, stop.signal]) : stop.signal;
  const own = { ...deps, signal };
  const handle = await open(file.part, constants.O_RDWR | constants.O_CREAT);
  const { saveLater, saveNow } = saving(file, chunks, handle);
  const missing = chunks.done.flatMap((done, index) => (done < lengthOf(chunks, index) ? [index] : []));
  const worker = async (): Promise<void> => {
    for (let index = missing.shift(); index !== undefined; index = missing.shift()) {
      const chunk = index;
      const received = (): void => {
        deps.progress(chunkBytes(chunks), chunks.bytes);
        saveLater();
      };
      await withRetries(
        () => fetchChunk(file, chunks, { chunk, handle, received }, own),
        () => chunks.done[chunk] ?? 0,
        own,
      );
    }
  };
  try {
    await saveNow();
    const workers = Array.from({ length: connections }, () =>
      worker().catch((error: unknown) => {
        stop.abort();
        throw error;
      }),
    );
    const ends = await Promise.allSettled(workers);
    deps.signal?.throwIfAborted();
    const reasons = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as Error] : []));
    if (reasons.some((reason) => reason instanceof RangesRefused)) return false;
    // The others were aborted because of it.
    const [first] = [...reasons.filter((reason) => reason instanceof DownloadError), ...reasons];
    if (first) throw first;
    return true;
  } finally {
    await saveNow().catch(() => undefined);
    await handle.close();
  }
}

/** The mark of the part never names bytes that are not on the disk, also after a power loss. */
function saving({ part, hash }: KnownFile, chunks: Chunks, handle: FileHandle) {
  let last = performance.now();
  let running = Promise.resolve();
  const save = async (): Promise<void> => {
    const now = { ...chunks, done: [...chunks.done] };
    await handle.datasync();
    await writeMark(part, { version: hash, chunks: now });
  };
  const saveNow = (): Promise<void> => {
    running = running.then(save);
    return running;
  };
  const saveLater = (): void => {
    if (performance.now() - last < saveMs) return;
    last = performance.now();
    // An error is that of the next write, too.
    saveNow().catch(() => {
      running = Promise.resolve();
    });
  };
  return { saveNow, saveLater };
}

async function fetchChunk(
  { url, headers, bytes }: KnownFile,
  chunks: Chunks,
  { chunk, handle, received }: { chunk: number; handle: FileHandle; received: () => void },
  deps: TransferDeps,
): Promise<Outcome> {
  const have = chunks.done[chunk] ?? 0;
  const from = chunk * chunks.size + have;
  const length = lengthOf(chunks, chunk) - have;
  const response = await requestRange(url, { ...headers, range: `bytes=${from}-${from + length - 1}` }, deps);
  if (!(response instanceof Response)) return response;
  const fault = faultOf(response, { from, bytes });
  if (fault !== undefined) {
    await response.body?.cancel();
    return { type: 'broken', reason: `${new URL(url).host} ${fault}` };
  }
  const count = (done: number): void => {
    chunks.done[chunk] = have + done;
    received();
  };
  return receive(response, handle, { from, length, received: count }, deps);
}

/** Undefined for the requested range. */
function faultOf({ status, headers }: Response, { from, bytes }: { from: number; bytes: number }): string | undefined {
  if (status === 200 && Number(headers.get('content-length') ?? bytes) === bytes) throw new RangesRefused();
  if (status !== 206) return `sends something else than the file (status ${status})`;
  const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get('content-range') ?? '') ?? [];
  if (Number(start) !== from) return 'sends another part of the file than the one that was asked for';
  return total === '*' || Number(total) === bytes ? undefined : `has a file of ${total} bytes instead of ${bytes}`;
}
