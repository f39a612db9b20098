import { isObject } from '../core/json.ts';
import type { JsonObject } from '../http/body.ts';
import type { Form } from '../http/form.ts';

/** The texts of a form as a JSON object: `name[]` and repeated names are lists, `name[key]` is an object. */
export function bodyOfForm({ fields }: Form): JsonObject {
  const body = new Map<string, unknown>();
  for (const [wire, values] of fields) {
    const [, name = wire, key] = /^([^[\]]+)\[([^[\]]*)\]$/.exec(wire) ?? [];
    if (key === undefined) body.set(name, values.length === 1 ? values[0] : values);
    else if (key === '') body.set(name, [body.get(name) ?? [], ...values].flat());
    else {
      const known = body.get(name);
      body.set(name, { ...(isObject(known) ? known : {}), [key]: values.at(-1) });
    }
  }
  return Object.fromEntries(body);
}
