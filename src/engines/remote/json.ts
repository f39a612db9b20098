/** Accessors for untrusted JSON: a value of another type becomes empty or undefined. */
export function objectAt(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
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

/** Undefined if the text is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads a key of untrusted JSON. */
function valueIn(holder: unknown, key: string): unknown {
  return typeof holder === 'object' && holder !== null ? (holder as Record<string, unknown>)[key] : undefined;
}

export function textIn(holder: unknown, key: string): string | undefined {
  const value = valueIn(holder, key);
  return typeof value === 'string' ? value : undefined;
}

export function numberIn(holder: unknown, key: string): number | undefined {
  const value = valueIn(holder, key);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

export function textsIn(holder: unknown, key: string): readonly string[] {
  return entries(valueIn(holder, key)).filter((each): each is string => typeof each === 'string');
}

export function entries(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Value at a path of keys. */
export function inside(holder: unknown, ...keys: readonly (string | number)[]): unknown {
  return keys.reduce<unknown>((value, key) => valueIn(value, String(key)), holder);
}
