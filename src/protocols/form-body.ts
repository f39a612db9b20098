import type { JsonObject } from '../http/body.ts';
import type { Form } from '../http/form.ts';

/**
 * The texts of a form as the object that the same request would be in JSON: `name[]` is a list, `name[key]` an object, and a
 * name that comes several times a list too.
 */
export function bodyOfForm({ fields }: Form): JsonObject {
  const body = new Map<string, unknown>();
  for (const [wire, values] of fields) {
    const [, name = wire, key] = /^([^[\]]+)\[([^[\]]*)\]$/.exec(wire) ?? [];
    if (key === undefined) body.set(name, values.length === 1 ? values[0] : values);
    else if (key === '') body.set(name, [...listOf(body.get(name)), ...values]);
    else body.set(name, { ...objectOf(body.get(name)), [key]: values.at(-1) });
  }
  return Object.fromEntries(body);
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

function objectOf(value: unknown): object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}
