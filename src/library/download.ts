import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { withFileLock } from '../core/file-lock.ts';
import { checkVersion, NewerFile, versionKey } from '../core/file-version.ts';
import { hideSecrets } from '../core/hide-secrets.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { networkReason } from '../core/network-error.ts';

/** A sentence for people: why a download failed, and what to do. */
export class DownloadError extends Error {
  override readonly name = 'DownloadError';
}

interface Wanted {
  readonly url: string;
  /** The final path; until then the content is in `target.part`. */
  readonly target: string;
  readonly expected?: Expected | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Reject if the target exists, instead of replacing it. */
  readonly mustBeNew?: boolean;
}

export interface DownloadParts {
  readonly fetch: typeof fetch;
  /** Bytes so far, and in total if known. */
  readonly progress: (done: number, total: number | undefined) => void;
  /** Called before the file is written. */
  readonly begins?: (target: string) => Promise<void>;
  readonly signal?: AbortSignal;
  readonly attempts?: number;
  readonly wait?: (milliseconds: number) => Promise<void>;
}

/**
 * Downloads a file, which no other download may write at the same time. An interrupted download is resumed, in this run or a later one, unless the file has changed. It gets its
 * name only when it is complete and its hash is right; with a wrong hash it is deleted.
 */
export async function download(wanted: Wanted, parts: DownloadParts): Promise<void> {
  await mkdir(dirname(wanted.target), { recursive: true });
  await withTargetLock(wanted.target, () => downloadAlone(wanted, parts));
}

/** Runs the work while no other download of the same target runs, in this process or another one. Rejects if one does. */
export function withTargetLock<Result>(target: string, work: () => Promise<Result>): Promise<Result> {
  const refuse = (lock: string) =>
    new DownloadError(
      `${target} is being downloaded already. Wait for that download, or delete ${lock} if there is none`,
    );
  return withFileLock(target, work, { refuse });
}

async function downloadAlone(wanted: Wanted, parts: DownloadParts): Promise<void> {
  if (wanted.mustBeNew) mustNotExist(wanted.target);
  await parts.begins?.(wanted.target);
  const part = `${wanted.target}.part`;
  const attempts = parts.attempts ?? 5;
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await fetchRest(wanted, part, parts);
    if (outcome.type === 'whole') break;
    parts.signal?.throwIfAborted();
    if (attempt >= attempts) {
      const kept =
        (await sizeOf(part)) > 0 ? 'What was downloaded is kept. Try again to continue.' : 'Try again later.';
      throw new DownloadError(`${outcome.reason}. ${kept}`);
    }
    await pauseFor(1000 * 2 ** (attempt - 1), parts);
  }
  await check(wanted, part);
  await rename(part, wanted.target);
  await rm(markOf(part), { force: true });
}

/** Rejects when it is aborted. */
export async function pauseFor(
  milliseconds: number,
  { wait, signal }: Pick<DownloadParts, 'wait' | 'signal'>,
): Promise<void> {
  await (wait ? wait(milliseconds) : pause(milliseconds, undefined, signal && { signal }));
  signal?.throwIfAborted();
}

export function mustNotExist(target: string): void {
  if (existsSync(target)) throw new DownloadError(`${target} is there already`);
}

type Outcome = { readonly type: 'whole' } | { readonly type: 'broken'; readonly reason: string };

async function fetchRest({ url, headers, expected }: Wanted, part: string, parts: DownloadParts): Promise<Outcome> {
  const hash = expected?.digest.toString('hex');
  const have = await sizeOf(part);
  const mark = have > 0 ? await readMark(part) : '';
  // Without an ETag the version is unknown, so the download starts over. Where the hash is known, the storage may have changed its ETag.
  const isSame: Record<string, string> = mark === hash ? {} : { 'if-range': mark };
  const resume: Record<string, string> = mark === '' ? {} : { range: `bytes=${have}-`, ...isSame };
  let response: Response;
  try {
    response = await parts.fetch(url, {
      headers: { ...headers, ...resume },
      redirect: 'follow',
      ...(parts.signal && { signal: parts.signal }),
    });
  } catch (error) {
    if (error instanceof DownloadError) throw error;
    const reason = `cannot reach ${new URL(url).host}: ${reasonOf(error)}. Check the network connection`;
    return { type: 'broken', reason };
  }
  if (response.status === 416 && mark !== '') {
    await response.body?.cancel();
    return { type: 'whole' };
  }
  if (!response.ok) {
    await response.body?.cancel();
    const reason = `${new URL(url).host} answered ${response.status}${response.statusText ? ` ${response.statusText}` : ''}`;
    if (response.status >= 500 || response.status === 429) return { type: 'broken', reason };
    throw new DownloadError(explain(response.status, reason));
  }
  const from = response.status === 206 ? have : 0;
  const etag = response.headers.get('etag') ?? '';
  await writeMark(part, hash ?? (etag.startsWith('W/') ? '' : etag));
  return receive(response, part, from, parts);
}

async function receive(response: Response, part: string, from: number, parts: DownloadParts): Promise<Outcome> {
  const length = Number(response.headers.get('content-length') ?? Number.NaN);
  const total = Number.isNaN(length) ? undefined : from + length;
  const file = await open(part, from > 0 ? 'r+' : 'w');
  let done = from;
  try {
    await file.truncate(from);
    for await (const piece of response.body ?? []) {
      await file.write(piece as Uint8Array, 0, (piece as Uint8Array).length, done);
      done += (piece as Uint8Array).length;
      parts.progress(done, total);
    }
    // The file gets its name only when its content is on the disk.
    await file.sync();
  } catch (error) {
    if (isDiskError(error)) throw new DownloadError(`it could not be written: ${(error as Error).message}`);
    return { type: 'broken', reason: `the connection broke off: ${reasonOf(error)}` };
  } finally {
    await file.close();
  }
  return total === undefined || done >= total
    ? { type: 'whole' }
    : { type: 'broken', reason: `the connection ended after ${done} of ${total} bytes` };
}

async function check({ expected, target }: Wanted, part: string): Promise<void> {
  if (!expected) return;
  const digest = await fileHash(part, expected.algorithm);
  if (digest.equals(expected.digest)) return;
  await deletePart(target);
  throw new DownloadError(
    `the ${expected.algorithm} of what came is ${digest.toString('hex')}, not ${expected.digest.toString('hex')}; nothing of it is kept (${target})`,
  );
}

/** What is left of an interrupted download. */
export async function deletePart(target: string): Promise<void> {
  const part = `${target}.part`;
  for (const path of [part, markOf(part)]) await rm(path, { force: true });
}

/** File with the ETag of the partial download, or its expected hash: the ETag alone in version 1, a JSON object since. */
const markOf = (part: string): string => `${part}.etag`;
const markVersion = 2;

function writeMark(part: string, etag: string): Promise<void> {
  return writeFile(markOf(part), `${JSON.stringify({ [versionKey]: markVersion, etag })}\n`);
}

async function readMark(part: string): Promise<string> {
  const text = await readFile(markOf(part), 'utf8').catch(() => '');
  const mark = tryParseJson(text);
  if (!isObject(mark)) return text;
  try {
    checkVersion(mark, markVersion);
  } catch (error) {
    if (error instanceof NewerFile) throw new DownloadError(`${part} is left alone: ${error.message}`);
    throw error;
  }
  return typeof mark.etag === 'string' ? mark.etag : '';
}

function explain(status: number, reason: string): string {
  if (status === 401 || status === 403) return `${reason}: it wants a key; set HF_TOKEN for models that need one`;
  return status === 404 ? `${reason}: there is no such file` : reason;
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  return networkReason(error) ?? hideSecrets(cause instanceof Error ? cause.message : message);
}

/** 0 for a file that is not there. */
export async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

function isDiskError(error: unknown): boolean {
  return ['ENOSPC', 'EACCES', 'EIO', 'EROFS', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '');
}

export async function fileHash(
  path: string,
  algorithm: 'sha256' | 'sha512',
  progress: (bytes: number) => void = () => {},
): Promise<Buffer> {
  const hash = createHash(algorithm);
  let done = 0;
  for await (const piece of createReadStream(path, { highWaterMark: 1 << 20 })) {
    hash.update(piece as Buffer);
    done += (piece as Buffer).length;
    progress(done);
  }
  return hash.digest();
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
