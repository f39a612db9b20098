import { AppError } from '../../core/errors.ts';
import type { JsonSchema } from '../../core/fidelity.ts';
import { isObject } from '../../core/json.ts';
import type { JsonObject } from '../../http/body.ts';

export { isObject };

/** Reads one value of a request, or throws with its path (`messages[3].content[0].text`). `loose.ts` is more lenient. */
export interface Read<Value> {
  (value: unknown, path: string): Value;
  /** For the description of the API; the reader may accept more. */
  readonly schema?: JsonSchema;
}

export function reader<Value>(expected: string, is: (value: unknown) => boolean, schema: JsonSchema = {}): Read<Value> {
  return described(schema, (value, path) => {
    if (!is(value)) throw wrong(path, expected);
    return value as Value;
  });
}

export function described<Value>(schema: JsonSchema, read: Read<Value>): Read<Value> {
  return Object.assign((value: unknown, path: string) => read(value, path), { schema });
}

export const readText = reader<string>('a string', (value) => typeof value === 'string', { type: 'string' });
export const readName: Read<string> = described({ type: 'string', minLength: 1 }, (value, path) => {
  if (isAbsent(value) || value === '') throw wrong(path, 'a string that is not empty');
  return readText(value, path);
});
export const readFlag = reader<boolean>('true or false', (value) => typeof value === 'boolean', { type: 'boolean' });
export const readNumber = reader<number>('a number', (value) => typeof value === 'number', { type: 'number' });
export const readWhole: Read<number> = described({ type: 'integer' }, (value, path) =>
  wholeNumber(readNumber(value, path), path),
);
/** The whole part of any number. */
export const readTruncated: Read<number> = described({ type: 'integer' }, (value, path) =>
  Math.trunc(readNumber(value, path)),
);
export const readCount = reader<number>(
  'a whole number, 0 or more',
  (value) => Number.isInteger(value) && Number(value) >= 0,
  { type: 'integer', minimum: 0 },
);
export const readPositive = reader<number>(
  'a whole number above 0',
  (value) => Number.isInteger(value) && Number(value) > 0,
  { type: 'integer', minimum: 1 },
);
const wholeNumber = reader<number>('a whole number', Number.isInteger);
export const readObject = reader<JsonObject>('an object', isObject, { type: 'object' });
export const readList = reader<readonly unknown[]>('an array', Array.isArray, { type: 'array', items: {} });

/** For values that are decoded later. */
export const anyValue: Read<unknown> = (value) => value;

export function oneOf<const Word extends string>(...words: readonly [Word, ...Word[]]): Read<Word> {
  return reader(`one of ${words.join(', ')}`, (value) => (words as readonly unknown[]).includes(value), {
    enum: words,
  });
}

/** The same with quoted words in the error. */
export function word<const Word extends string>(...words: readonly [Word, ...Word[]]): Read<Word> {
  const expected = words.map((one) => `"${one}"`).join(' or ');
  return reader(expected, (value) => (words as readonly unknown[]).includes(value), { enum: words });
}

export function textList(expected: string): Read<readonly string[]> {
  const fits = (value: unknown) => Array.isArray(value) && value.every((entry) => typeof entry === 'string');
  return reader(expected, fits, { type: 'array', items: { type: 'string' } });
}

export function wholeBetween(least: number, most: number): Read<number> {
  const fits = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
  return reader(`a whole number from ${least} to ${most}`, fits, { type: 'integer', minimum: least, maximum: most });
}

export function listOf<Value>(read: Read<Value>): Read<readonly Value[]> {
  return described({ type: 'array', items: read.schema ?? {} }, (value, path) =>
    readList(value, path).map((entry, index) => read(entry, `${path}[${index}]`)),
  );
}

type Members<Readers> = { readonly [Name in keyof Readers]: Readers[Name] extends Read<infer Value> ? Value : never };

/** An object by the readers of its members; left out, it counts as empty. */
export function objectOf<const Readers extends Readonly<Record<string, Read<unknown>>>>(
  members: Readers,
): Read<Members<Readers>> {
  const properties = Object.fromEntries(Object.entries(members).map(([name, { schema = {} }]) => [name, schema]));
  return described({ type: 'object', properties }, (value, path) => {
    const holder = isAbsent(value) ? {} : readObject(value, path);
    const found: Record<string, unknown> = {};
    for (const name of Object.keys(members)) found[name] = members[name]?.(holder[name], `${path}.${name}`);
    return found as Members<Readers>;
  });
}

/** Null counts as left out. */
export function optional<Value>(read: Read<Value>): Read<Value | undefined> {
  return described(read.schema ?? {}, (value, path) => (isAbsent(value) ? undefined : read(value, path)));
}

/** `fallback` if the field is left out, or if a loose reader found no number in it. */
export function orElse<Value>(read: Read<Value>, fallback: Value): Read<Value> {
  return described({ ...read.schema, ...shownDefault(fallback) }, (value, path) => {
    if (isAbsent(value)) return fallback;
    const found = read(value, path);
    return Number.isNaN(found) ? fallback : found;
  });
}

/** Not for lists and objects, whose read form may differ from the sent one. */
function shownDefault(fallback: unknown): JsonSchema {
  return ['boolean', 'number', 'string'].includes(typeof fallback) && fallback !== '' ? { default: fallback } : {};
}

/** One member of the object at `path`. */
export function readAt<Value>(holder: JsonObject, name: string, path: string, read: Read<Value>): Value {
  return read(holder[name], pathTo(path, name));
}

export function pathTo(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

export const optionalText = optional(readText);
export const optionalName = optional(readName);
export const optionalFlag = optional(readFlag);
export const optionalNumber = optional(readNumber);
export const optionalWhole = optional(readWhole);
export const optionalObject = optional(readObject);
export const optionalList = optional(readList);

export function wrong(path: string, expected: string): AppError<'invalid-field'> {
  return new AppError('invalid-field', { field: path, expected });
}

export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

export function isTokenId(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31;
}

export function clamp(value: number, min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY): number {
  return Math.min(Math.max(value, min), max);
}
