import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { AppError } from '../core/errors.ts';
import { isDeeperThan, isObject } from '../core/json.ts';
import { inSlices } from '../core/slices.ts';
import type { StartTimer } from '../core/timers.ts';
import { LargeJsonError, parseLargeJson } from './large-json.ts';

/** Deeper than any real request, and safe for recursive code. */
const deepest = 128;

export type JsonObject = Readonly<Record<string, unknown>>;

/** Ignores the content type: programs send JSON under any, or none. */
export function parseJson(body: Uint8Array): unknown {
  const bytes = readableBytes(body);
  if (isDeeperThan(bytes, deepest)) throw invalid(`it is nested deeper than ${deepest} levels`);
  const text = bytes.toString('utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid(text.trim() === '' ? 'it is empty' : reasonOf(error), error);
  }
}

/** Larger bodies are parsed in slices, so that other requests are served meanwhile. */
const largeBytes = 1024 * 1024;

/** Parsed bodies, which must not be changed: the model router and the handler both read them. */
const parsed = new WeakMap<Uint8Array, object>();

/** The object of a body that was parsed before. */
export function parsedObject(body: Uint8Array): JsonObject | undefined {
  const value = parsed.get(body);
  return isObject(value) ? value : undefined;
}

/** For endpoints whose body is a JSON object. */
export async function jsonObject(
  body: Uint8Array,
  { empty, signal }: { readonly empty: 'object' | 'refuse'; readonly signal?: AbortSignal },
): Promise<JsonObject> {
  if (empty === 'object' && isBlankBody(body)) return {};
  const value = parsed.get(body) ?? (body.length < largeBytes ? parseJson(body) : await parseInSlices(body, signal));
  if (typeof value === 'object' && value !== null) parsed.set(body, value);
  if (isObject(value)) return value;
  throw new AppError('invalid-field', { field: 'body', expected: 'an object' });
}

async function parseInSlices(body: Uint8Array, signal: AbortSignal | undefined): Promise<unknown> {
  const bytes = readableBytes(body);
  try {
    return await inSlices(parseLargeJson(bytes, deepest), signal ? { signal } : {});
  } catch (error) {
    if (error instanceof LargeJsonError) throw invalid(error.message, error);
    if (error instanceof SyntaxError) throw invalid(isBlankBody(bytes) ? 'it is empty' : reasonOf(error), error);
    throw error;
  }
}

/** The bytes after a byte order mark. */
function readableBytes(body: Uint8Array): Buffer {
  if (!isUtf8(body)) throw invalid('it is not UTF-8');
  const start = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0;
  return Buffer.from(body.buffer, body.byteOffset + start, body.byteLength - start);
}

export function isBlankBody(body: Uint8Array): boolean {
  return body.every((byte) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09);
}

/** The message of the parser, for the middle of a sentence. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message.replace(/ is not valid JSON$/, '') : String(error);
  return message.charAt(0).toLowerCase() + message.slice(1);
}

function invalid(reason: string, cause?: unknown): AppError {
  return new AppError('invalid-json', { reason }, { cause });
}

export type ReadBody =
  | { readonly type: 'whole'; readonly body: Buffer }
  | { readonly type: 'too-large' | 'crowded' | 'stalled' | 'disconnected' };

export interface BodyLimits {
  readonly bytes: number;
  /** Maximum time between two bytes. */
  readonly stallMilliseconds: number;
  readonly startTimer: StartTimer;
  /** Memory for this body; false ends the reading as `crowded`. */
  readonly take: (bytes: number) => boolean;
  /** Called before reading, unless the declared length exceeds the limit. */
  readonly begin?: () => void;
}

/** Reads a whole body up to the limit. What follows after the limit is left to the caller. */
export function readBody(request: IncomingMessage, limits: BodyLimits): Promise<ReadBody> {
  const { bytes, stallMilliseconds, startTimer } = limits;
  if (declaredLength(request) > bytes) return Promise.resolve({ type: 'too-large' });
  if (request.destroyed) return Promise.resolve({ type: 'disconnected' });
  limits.begin?.();
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;

    const settle = (result: ReadBody): void => {
      stall.cancel();
      request.off('data', take).off('end', whole).off('close', disconnected);
      resolve(result);
    };
    const take = (chunk: Buffer): void => {
      length += chunk.length;
      stall.restart();
      if (length > bytes) settle({ type: 'too-large' });
      else if (!limits.take(chunk.length)) settle({ type: 'crowded' });
      else chunks.push(chunk);
    };
    const whole = (): void =>
      settle({ type: 'whole', body: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks) });
    const disconnected = (): void => settle({ type: 'disconnected' });

    const stall = startTimer(stallMilliseconds, () => settle({ type: 'stalled' }));
    request.on('data', take).on('end', whole).on('close', disconnected);
  });
}

/** Whether a body is announced and not complete. */
export function bodyPending(request: IncomingMessage): boolean {
  return !request.complete && (declaredLength(request) > 0 || request.headers['transfer-encoding'] !== undefined);
}

const declaredLength = (request: IncomingMessage): number => Number(request.headers['content-length'] ?? 0);
