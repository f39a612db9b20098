/** Tolerant readers for files and replies of others: unexpected values count as missing. */

export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of a JSON text; undefined if it is none. */
export function jsonIn(text: string | null | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

/** A JSON text with these indents, or in one line; other texts as they are. */
export function reformatted(text: string, indent?: number): string {
  const value = jsonIn(text);
  return value === undefined ? text : JSON.stringify(value, undefined, indent);
}

/** What is wrong with a JSON text, as the browser says it; undefined if nothing is, or it is empty. */
export function jsonProblem(text: string): string | undefined {
  try {
    JSON.parse(text.trim() || 'null');
    return undefined;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

/** The bytes of a base64 text. */
export function bytesIn(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

export function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

export function textIn(value: unknown, otherwise = ''): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : otherwise;
}

export function numberIn(value: unknown, otherwise: number): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : otherwise;
}

export function percentIn(value: unknown): number {
  return Math.min(100, Math.max(0, numberIn(value, 100)));
}

export function flagIn(value: unknown, otherwise: boolean): boolean {
  if (typeof value === 'boolean') return value;
  return typeof value === 'number' ? value !== 0 : otherwise;
}

export function listIn(value: unknown, max = 100_000): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, max) : [];
}

export function textsIn(value: unknown, max?: number): string[] {
  return listIn(value, max).filter((one): one is string => typeof one === 'string');
}
