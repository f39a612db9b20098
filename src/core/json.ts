import { attempt } from './attempt.ts';

/** Whether the value is a JSON object: no array, not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type MemberType = 'string' | 'number' | 'boolean' | 'integer' | 'object' | 'list';

/** Whether the value is an object with members of these types, and perhaps others. Those with a question mark may be missing. */
export function hasMembers(
  value: unknown,
  members: Readonly<Record<string, MemberType | `${MemberType}?`>>,
): value is Record<string, unknown> {
  return isObject(value) && Object.entries(members).every(([name, type]) => isOfType(value[name], type));
}

function isOfType(value: unknown, type: string): boolean {
  if (type.endsWith('?')) return value === undefined || isOfType(value, type.slice(0, -1));
  if (type === 'object') return isObject(value);
  if (type === 'list') return Array.isArray(value);
  return type === 'integer' ? Number.isSafeInteger(value) : typeof value === type;
}

/** The value of a JSON text; undefined if the text is not valid JSON. */
export function tryParseJson(text: string): unknown {
  return attempt(() => JSON.parse(text), undefined);
}

/** Whether brackets outside of strings are nested deeper than the limit; for bytes that are not parsed yet. */
export function isDeeperThan(bytes: Buffer, limit: number): boolean {
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

/** Skips a string by a native search: large bodies are mostly long strings. */
export function closingQuote(bytes: Buffer, from: number): number {
  for (let end = bytes.indexOf(0x22, from); end !== -1; end = bytes.indexOf(0x22, end + 1)) {
    let backslashes = 0;
    while (end - backslashes > from && bytes[end - backslashes - 1] === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return -1;
}
