import { existsSync } from 'node:fs';
import { mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { withFileLock } from '../core/file-lock.ts';
import type { LayerProgress } from '../core/models-view.ts';
import { fileHash } from './file-hash.ts';
import { deletePart, readMark, sizeOf, writeMark } from './part-file.ts';
import { fetchChunks, plannedChunks, type RangeDeps } from './ranges.ts';
import { DownloadError, type Outcome, receive, requestRange, withRetries } from './transfer.ts';

export { DownloadError, sizeOf };

interface DownloadRequest {
  readonly url: string;
  /** The final path; until then the content is in `target.part`. */
  readonly target: string;
  readonly expected?: Expected | undefined;
  /** Its size, if known beforehand. */
  readonly bytes?: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Reject if the target exists, instead of replacing it. */
  readonly mustBeNew?: boolean;
}

export interface DownloadDeps extends RangeDeps {
  /** Bytes so far, and in total if known. */
  readonly progress: (done: number, total: number | undefined, layer?: LayerProgress) => void;
  /** Called before the file is written. */
  readonly begins?: (target: string) => Promise<void>;
}

/**
 * Downloads a file, which no other download may write at the same time. An interrupted download is resumed, in this run or a later one, unless the file has changed. It gets its
 * name only when it is complete and its hash is right; with a wrong hash it is deleted. A large file whose hash and size are known comes over several connections.
 */
export async function download(request: DownloadRequest, deps: DownloadDeps): Promise<void> {
  await mkdir(dirname(request.target), { recursive: true });
  await withTargetLock(request.target, () => downloadAlone(request, deps));
}

/** Runs the work while no other download of the same target runs, in this process or another one. Rejects if one does. */
export function withTargetLock<Result>(target: string, work: () => Promise<Result>): Promise<Result> {
  const refuse = (lock: string) =>
    new DownloadError(
      `${target} is being downloaded already. Wait for that download, or delete ${lock} if there is none`,
    );
  return withFileLock(target, work, { refuse });
}

async function downloadAlone(request: DownloadRequest, deps: DownloadDeps): Promise<void> {
  const { target } = request;
  if (request.mustBeNew) mustNotExist(target);
  await deps.begins?.(target);
  const part = `${target}.part`;
  if (!(await inChunks(request, part, deps)))
    await withRetries(
      () => fetchRest(request, part, deps),
      () => sizeOf(part),
      deps,
    );
  await check(request, part, deps.signal);
  await rename(part, target);
  await deletePart(target);
}

export function mustNotExist(target: string): void {
  if (existsSync(target)) throw new DownloadError(`${target} is there already`);
}

/** False if it has to come over one connection. */
async function inChunks(request: DownloadRequest, part: string, deps: DownloadDeps): Promise<boolean> {
  const { url, headers, bytes, expected } = request;
  if (!expected || bytes === undefined) return false;
  const file = { url, headers, part, bytes, hash: expected.digest.toString('hex') };
  const chunks = await plannedChunks(file, deps);
  if (!chunks) return false;
  if (await fetchChunks(file, chunks, deps)) return true;
  // The chunks are no beginning of the file.
  await deletePart(request.target);
  return false;
}

/** Over one connection, from the end of the part on. */
async function fetchRest(request: DownloadRequest, part: string, deps: DownloadDeps): Promise<Outcome> {
  const { url, headers, expected, bytes } = request;
  const hash = expected?.digest.toString('hex');
  const mark = await readMark(part);
  const have = mark && !mark.chunks ? await sizeOf(part) : 0;
  // Without an ETag the version is unknown, so the download starts over. Where the hash is known, the storage may have changed its ETag.
  const isSame: Record<string, string> = mark?.version === hash ? {} : { 'if-range': mark?.version ?? '' };
  const resume: Record<string, string> = have === 0 ? {} : { range: `bytes=${have}-`, ...isSame };
  const response = await requestRange(url, { ...headers, ...resume }, deps);
  if (!(response instanceof Response)) return response;
  if (response.status === 416) {
    await response.body?.cancel();
    return { type: 'whole' };
  }
  const from = response.status === 206 ? have : 0;
  const length = Number(response.headers.get('content-length') ?? Number.NaN);
  if (bytes !== undefined && from + length !== bytes && !Number.isNaN(length)) {
    await response.body?.cancel();
    return { type: 'broken', reason: `${new URL(url).host} sends ${from + length} bytes instead of ${bytes}` };
  }
  const etag = response.headers.get('etag') ?? '';
  await writeMark(part, { version: hash ?? (etag.startsWith('W/') ? '' : etag) });
  const total = Number.isNaN(length) ? undefined : from + length;
  const file = await open(part, from > 0 ? 'r+' : 'w');
  try {
    await file.truncate(from);
    const received = (done: number) => deps.progress(from + done, total);
    const rest = Number.isNaN(length) ? undefined : length;
    const outcome = await receive(response, file, { from, length: rest, received }, deps);
    // The file gets its name only when its content is on the disk.
    await file.sync();
    return outcome;
  } finally {
    await file.close();
  }
}

async function check(
  { expected, target }: DownloadRequest,
  part: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!expected) return;
  const digest = await fileHash(part, expected.algorithm, undefined, signal);
  if (digest.equals(expected.digest)) return;
  await deletePart(target);
  throw new DownloadError(
    `the ${expected.algorithm} of what came is ${digest.toString('hex')}, not ${expected.digest.toString('hex')}; nothing of it is kept (${target})`,
  );
}

export interface Expected {
  readonly algorithm: 'sha256' | 'sha512';
  readonly digest: Buffer;
}

export function readSha256(text: string): Expected | undefined {
  const digest = /^(?:sha256[:-])?([0-9a-f]{64})$/i.exec(text.trim())?.[1];
  return digest === undefined ? undefined : { algorithm: 'sha256', digest: Buffer.from(digest, 'hex') };
}

export function readIntegrity(text: string): Expected | undefined {
  const digest = /\bsha512-([A-Za-z0-9+/=]+)/.exec(text)?.[1];
  return digest === undefined ? undefined : { algorithm: 'sha512', digest: Buffer.from(digest, 'base64') };
}
