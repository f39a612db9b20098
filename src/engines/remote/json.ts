import { isObject } from '../../core/json.ts';

/** Accessors for untrusted JSON: a value of another type becomes empty or undefined. */
export function objectAt(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

export function listAt(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textAt(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function numberAt(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** Value at a path of keys. */
export function valueAt(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce<unknown>((inner, key) => objectAt(inner)[key], value);
}
