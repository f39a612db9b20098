import { isObject } from '../core/json.ts';

/** A value of ours as the native API writes it: names in snake case, null for what is not known. */
export function snakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCase);
  if (!isObject(value)) return value ?? null;
  const wire = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [wire(name), snakeCase(one)]));
}
