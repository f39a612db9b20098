import { isUtf8 } from 'node:buffer';
import { AppError } from '../core/errors.ts';

/** Deeper than any honest request; shallow enough that walking a parsed value recursively never ends a stack. */
const deepest = 128;

export type JsonObject = Readonly<Record<string, unknown>>;

/** Programs send JSON under any content type or none, so that only the bytes count. */
export function parseJson(body: Uint8Array): unknown {
  if (!isUtf8(body)) throw invalid('it is not UTF-8');
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  if (isDeeperThan(bytes, deepest)) throw invalid(`it is nested deeper than ${deepest} levels`);
  const text = bytes.toString('utf8', start);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid(text.trim() === '' ? 'it is empty' : reasonOf(error), error);
  }
}

/** For endpoints whose body is a JSON object. What an empty body means is the endpoint's to say. */
export function jsonObject(body: Uint8Array, { empty }: { readonly empty: 'object' | 'refuse' }): JsonObject {
  if (empty === 'object' && isBlank(body)) return {};
  const value = parseJson(body);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw new AppError('invalid-field', { field: 'body', expected: 'an object' });
}

/**
 * Counts brackets outside of strings, before anything is parsed. Strings are skipped from quote to quote by a native
 * search: a body of megabytes is mostly one long string.
 */
function isDeeperThan(bytes: Buffer, limit: number): boolean {
  let depth = 0;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (byte === 0x22) {
      index = closingQuote(bytes, index + 1);
      if (index === -1) return false;
    } else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > limit) return true;
    } else if (byte === 0x5d || byte === 0x7d) depth--;
  }
  return false;
}

function closingQuote(bytes: Buffer, from: number): number {
  for (let quote = bytes.indexOf(0x22, from); quote !== -1; quote = bytes.indexOf(0x22, quote + 1)) {
    let backslashes = 0;
    while (quote - backslashes > from && bytes[quote - backslashes - 1] === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return quote;
  }
  return -1;
}

function isBlank(body: Uint8Array): boolean {
  return body.every((byte) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09);
}

/** The parser's own words, made to fit into the middle of a sentence. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message.replace(/ is not valid JSON$/, '') : String(error);
  return message.charAt(0).toLowerCase() + message.slice(1);
}

function invalid(reason: string, cause?: unknown): AppError {
  return new AppError('invalid-json', { reason }, { cause });
}
