import { isObject } from '../core/json.ts';
import type { Bound, Bounds } from './numbers.ts';
import {
  GrammarError,
  impliedTypes,
  type Keywords,
  keywordsOfType,
  limits,
  type Part,
  type TypeName,
  typeNames,
  typeOf,
} from './schema.ts';

/** The combined demands of a conjunction on the type of a value and on scalars. */
export interface Shape {
  readonly types: ReadonlySet<TypeName>;
  /** The only values allowed, of any type, already within `types`. */
  readonly values: readonly unknown[] | undefined;
  readonly bounds: Bounds;
  readonly length: Counts;
  readonly pattern:
    | { readonly source: string; readonly part: Part; readonly keyword: 'pattern' | 'format' }
    | undefined;
}

export interface Counts {
  readonly minimum: number;
  readonly maximum: number | undefined;
}

export function shapeOf(parts: readonly Part[], only: TypeName | undefined): Shape {
  const first = parts[0] as Part;
  const types = typesOf(parts, only);
  if (types.size === 0) throw new GrammarError('no type satisfies everything that is demanded', first.pointer, 'type');
  const shape = { bounds: boundsOf(parts), length: counts(parts, 'minLength', 'maxLength') };
  return { types, ...shape, pattern: patternOf(parts), values: valuesOf(parts, types, shape) };
}

/** The types that satisfy every part; with `only`, no other than that one. */
export function typesOf(parts: readonly Part[], only?: TypeName): ReadonlySet<TypeName> {
  const first = new Set(only === undefined ? typeNames : [only]);
  return parts.map(typesOfPart).reduce((all, some) => intersection(all, some), first as ReadonlySet<TypeName>);
}

function typesOfPart(part: Part): ReadonlySet<TypeName> {
  const { type, multipleOf } = part.schema;
  if (multipleOf !== undefined && multipleOf !== 1) {
    throw new GrammarError('only multiples of 1 can be promised', part.pointer, 'multipleOf');
  }
  const names = type === undefined ? undeclaredTypes(part.schema) : Array.isArray(type) ? type : [type];
  if (names.length === 0 || names.some((name) => !typeNames.includes(name))) {
    throw new GrammarError(`each type must be one of ${typeNames.join(', ')}`, part.pointer, 'type');
  }
  return new Set(names.map((name) => (name === 'number' && multipleOf !== undefined ? 'integer' : name)));
}

function undeclaredTypes(schema: Keywords): readonly TypeName[] {
  const listsValues = schema.enum !== undefined || schema.const !== undefined;
  const implied = listsValues ? [] : impliedTypes(schema);
  return implied.length === 0 ? typeNames : implied;
}

function intersection(one: ReadonlySet<TypeName>, other: ReadonlySet<TypeName>): ReadonlySet<TypeName> {
  const has = (set: ReadonlySet<TypeName>, name: TypeName) =>
    set.has(name) || (name === 'integer' && set.has('number'));
  return new Set(typeNames.filter((name) => has(one, name) && has(other, name)));
}

function boundsOf(parts: readonly Part[]): Bounds {
  const byTightness = (sign: 1 | -1) => (one: Bound, other: Bound) =>
    sign * (one.value - other.value) || Number(other.exclusive) - Number(one.exclusive);
  const [minimum] = parts.flatMap((part) => edges(part, 'minimum', 'exclusiveMinimum')).sort(byTightness(-1));
  const [maximum] = parts.flatMap((part) => edges(part, 'maximum', 'exclusiveMaximum')).sort(byTightness(1));
  return { minimum, maximum };
}

/** In older schemas the exclusive keyword is a flag on the other one. */
function edges(part: Part, inclusive: string, exclusive: string): Bound[] {
  const bounds: Bound[] = [];
  const flagged = part.schema[exclusive] === true;
  for (const keyword of [inclusive, exclusive]) {
    const value = part.schema[keyword];
    if (value === undefined || typeof value === 'boolean') continue;
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      throw new GrammarError('there must be a number', part.pointer, keyword);
    }
    // Such a bound means "no limit".
    if (inclusive === 'minimum' ? value <= -1e21 : value >= 1e21) continue;
    if (Math.abs(value) >= 1e21) throw new GrammarError('the number must be below 1e21', part.pointer, keyword);
    bounds.push({ value, exclusive: keyword === exclusive || flagged });
  }
  return bounds;
}

/** The narrowest of the counts that the parts ask for. */
export function counts(parts: readonly Part[], minKeyword: string, maxKeyword: string): Counts {
  let minimum = 0;
  let maximum: number | undefined;
  for (const part of parts) {
    minimum = Math.max(minimum, count(part, minKeyword) ?? 0);
    if (minimum > limits.repetition) {
      throw new GrammarError(`the number must not exceed ${limits.repetition}`, part.pointer, minKeyword);
    }
    const upper = count(part, maxKeyword);
    if (upper !== undefined) maximum = Math.min(maximum ?? limits.repetition, upper);
  }
  if (maximum !== undefined && maximum < minimum) {
    throw new GrammarError(`${minKeyword} is greater than ${maxKeyword}`, (parts[0] as Part).pointer, minKeyword);
  }
  return { minimum, maximum };
}

function count(part: Part, keyword: string): number | undefined {
  const value = part.schema[keyword];
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) {
    throw new GrammarError('there must be a whole number that is not negative', part.pointer, keyword);
  }
  return value;
}

const leapDay = '((\\d\\d(0[48]|[2468][048]|[13579][26]))|(([02468][048]|[13579][26])00))-02-29';
const otherDay =
  '\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))';
const date = `(${otherDay}|${leapDay})`;
const time = '([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)';
const byte = '(\\d|[1-9]\\d|1\\d\\d|2[0-4]\\d|25[0-5])';
const label = '[a-zA-Z0-9]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?';
const atom = "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]{1,32}";

/** The enforced formats as patterns, without oddities (leap seconds, quoted mail names). Other formats are hints. */
export const formats: Readonly<Record<string, string>> = {
  date: `^${date}$`,
  time: `^${time}$`,
  'date-time': `^${date}T${time}$`,
  uuid: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
  ipv4: `^${byte}(\\.${byte}){3}$`,
  email: `^${atom}(\\.${atom})?@${label}(\\.${label}){1,3}$`,
};

/** `pattern` binds, `format` is a hint: with both, the pattern decides. */
function patternOf(parts: readonly Part[]): Shape['pattern'] {
  for (const keyword of ['pattern', 'format'] as const) {
    const sources = new Map<string, Part>();
    for (const part of parts) {
      const value = part.schema[keyword];
      if (value === undefined) continue;
      if (typeof value !== 'string') throw new GrammarError('there must be a string', part.pointer, keyword);
      const source = keyword === 'format' ? (Object.hasOwn(formats, value) ? formats[value] : undefined) : value;
      if (source !== undefined) sources.set(source, part);
    }
    const [first, second] = [...sources];
    if (second) throw new GrammarError('two of them cannot be joined', second[1].pointer, keyword);
    if (first) return { source: first[0], part: first[1], keyword };
  }
  return undefined;
}

function valuesOf(parts: readonly Part[], types: ReadonlySet<TypeName>, shape: Pick<Shape, 'bounds' | 'length'>) {
  let values: readonly unknown[] | undefined;
  for (const part of parts) {
    const { schema, pointer } = part;
    for (const keyword of ['const', 'enum'] as const) {
      if (!Object.hasOwn(schema, keyword)) continue;
      const list = keyword === 'const' ? [schema.const] : schema.enum;
      if (!Array.isArray(list) || list.length === 0 || list.length > limits.alternatives) {
        throw new GrammarError(`there must be a list of 1 to ${limits.alternatives} values`, pointer, keyword);
      }
      if (values === undefined) {
        values = list;
        continue;
      }
      const known = new Set(list.map((value) => canonical(value)));
      values = values.filter((value) => known.has(canonical(value)));
    }
  }
  if (!values) return undefined;
  const structural = [...(keywordsOfType.object ?? []), ...(keywordsOfType.array ?? []), 'pattern'];
  for (const { schema, pointer } of parts) {
    const keyword = structural.find((name) => schema[name] !== undefined);
    if (keyword !== undefined) throw new GrammarError('it cannot be combined with enum or const', pointer, keyword);
  }
  const allowed = values.filter(
    (value) => types.has(typeOf(value)) || (typeOf(value) === 'integer' && types.has('number')),
  );
  const within = allowed.filter((value) => fits(value, shape));
  if (within.length === 0) {
    throw new GrammarError('no listed value satisfies the rest of the schema', (parts[0] as Part).pointer, 'enum');
  }
  return within;
}

function fits(value: unknown, { bounds: { minimum, maximum }, length }: Pick<Shape, 'bounds' | 'length'>): boolean {
  if (typeof value === 'string') {
    const characters = [...value].length;
    return characters >= length.minimum && characters <= (length.maximum ?? characters);
  }
  if (typeof value !== 'number') return true;
  const above = !minimum || value > minimum.value || (value === minimum.value && !minimum.exclusive);
  return above && (!maximum || value < maximum.value || (value === maximum.value && !maximum.exclusive));
}

/** Equal JSON values have equal texts: keys in order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inside: unknown) =>
    isObject(inside) ? Object.fromEntries(Object.entries(inside).sort(([a], [b]) => (a < b ? -1 : 1))) : inside,
  );
}
