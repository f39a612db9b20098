import type { FileHandle } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { hideSecrets } from '../core/hide-secrets.ts';
import { networkReason } from '../core/network-error.ts';

/** A sentence for people: why a download failed, and what to do. */
export class DownloadError extends Error {
  override readonly name: string = 'DownloadError';

  constructor(
    message: string,
    /** Whether it may succeed later without any change, for instance when the network is back. */
    readonly temporary = false,
  ) {
    super(message);
  }
}

export interface TransferDeps {
  readonly fetch: typeof fetch;
  readonly signal?: AbortSignal;
  readonly attempts?: number;
  readonly wait?: (milliseconds: number) => Promise<void>;
  /** A connection without data for so long counts as broken. */
  readonly stallMs?: number;
}

interface Broken {
  readonly type: 'broken';
  readonly reason: string;
  /** When the server wants to be asked again. */
  readonly delayMs?: number | undefined;
}

export type Outcome = { readonly type: 'whole' } | Broken;

/** Tries again after pauses, until a number of attempts in a row bring nothing. */
export async function withRetries(
  attempt: () => Promise<Outcome>,
  bytes: () => number | Promise<number>,
  deps: TransferDeps,
): Promise<void> {
  let before = await bytes();
  for (let count = 1; ; count += 1) {
    const outcome = await attempt();
    if (outcome.type === 'whole') return;
    deps.signal?.throwIfAborted();
    const now = await bytes();
    if (now > before) count = 1;
    before = now;
    if (count >= (deps.attempts ?? 5)) {
      const kept = now > 0 ? 'What was downloaded is kept. Try again to continue.' : 'Try again later.';
      throw new DownloadError(`${outcome.reason}. ${kept}`, true);
    }
    await pauseFor(outcome.delayMs ?? 1000 * 2 ** (count - 1), deps);
  }
}

/** Rejects when it is aborted. */
export async function pauseFor(
  milliseconds: number,
  { wait, signal }: Pick<TransferDeps, 'wait' | 'signal'>,
): Promise<void> {
  await (wait ? wait(milliseconds) : pause(milliseconds, undefined, signal && { signal }));
  signal?.throwIfAborted();
}

/** A person does not wait longer than this for the next try. */
export const maxWaitMs = 60_000;

/** Milliseconds until the next try; undefined if it would be refused again. */
export function retryDelay(
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  attempt: number,
): number | undefined {
  if (status !== 429 && status !== 408 && status < 500) return undefined;
  return namedDelay(headers) ?? 1000 * 2 ** (attempt - 1);
}

/** Milliseconds that a reply names. */
function namedDelay(headers: Headers): number | undefined {
  const limit = /"[^"]*"\s*;\s*r=0\s*;\s*t=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1];
  const seconds = limit !== undefined ? Number(limit) + 1 : Number(headers.get('retry-after') || Number.NaN);
  return Number.isNaN(seconds) ? undefined : seconds * 1000;
}

/** The reply with a file or a part of it, or why there is none. A range after the end of the file is a reply, too. */
export async function requestRange(
  url: string,
  headers: Readonly<Record<string, string>>,
  { fetch, signal }: TransferDeps,
): Promise<Response | Broken> {
  const { host } = new URL(url);
  let response: Response;
  try {
    response = await fetch(url, { headers, redirect: 'follow', ...(signal && { signal }) });
  } catch (error) {
    if (error instanceof DownloadError && !error.temporary) throw error;
    if (error instanceof DownloadError) return { type: 'broken', reason: error.message };
    return { type: 'broken', reason: `cannot reach ${host}: ${reasonOf(error)}. Check the network connection` };
  }
  if (response.ok || response.status === 416) return response;
  await response.body?.cancel();
  const reason = `${host} answered ${response.status}${response.statusText ? ` ${response.statusText}` : ''}`;
  if (retryDelay(response, 1) === undefined) throw new DownloadError(explain(response.status, reason));
  return {
    type: 'broken',
    reason,
    delayMs: Math.min(maxWaitMs, namedDelay(response.headers) ?? Number.NaN) || undefined,
  };
}

function explain(status: number, reason: string): string {
  if (status === 401 || status === 403) return `${reason}: it wants a key; set HF_TOKEN for models that need one`;
  return status === 404 ? `${reason}: there is no such file` : reason;
}

/** Writes the body of a reply into a file from a position on, up to a length. */
export async function receive(
  { body }: Response,
  file: FileHandle,
  { from, length, received }: { from: number; length: number | undefined; received: (bytes: number) => void },
  { stallMs = 30_000 }: TransferDeps,
): Promise<Outcome> {
  let done = 0;
  const reader = body?.getReader();
  let stalled = false;
  const stall = setTimeout(() => {
    stalled = true;
    // Ends the read that waits.
    void reader?.cancel().catch(() => undefined);
  }, stallMs);
  try {
    while (length === undefined || done < length) {
      const piece = (await reader?.read())?.value;
      if (piece === undefined) break;
      stall.refresh();
      const bytes = length === undefined ? piece.length : Math.min(piece.length, length - done);
      await file.write(piece, 0, bytes, from + done);
      done += bytes;
      received(done);
    }
  } catch (error) {
    if (isDiskError(error)) throw new DownloadError(`it could not be written: ${(error as Error).message}`);
    return { type: 'broken', reason: `the connection broke off: ${reasonOf(error)}` };
  } finally {
    clearTimeout(stall);
    await reader?.cancel().catch(() => undefined);
  }
  if (stalled) return { type: 'broken', reason: `no data came for ${stallMs / 1000} s` };
  if (length === undefined || done >= length) return { type: 'whole' };
  return { type: 'broken', reason: `the connection ended after ${from + done} of ${from + length} bytes` };
}

export function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  return networkReason(error) ?? hideSecrets(cause instanceof Error ? cause.message : message);
}

function isDiskError(error: unknown): boolean {
  return ['ENOSPC', 'EACCES', 'EIO', 'EROFS', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '');
}
