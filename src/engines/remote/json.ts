/** What came over the wire is looked at piece by piece: nothing of it has to be what it should be. */
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

/** Undefined for what is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Looks into what another server says, which may be anything. */
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

/** What stands at the end of these keys, one below the other. */
export function inside(holder: unknown, ...keys: readonly (string | number)[]): unknown {
  return keys.reduce<unknown>((value, key) => valueIn(value, String(key)), holder);
}
