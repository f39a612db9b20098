import { AppError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { percentDecoded } from '../core/percent-decoded.ts';

export type Keywords = Readonly<Record<string, unknown>>;

/** A schema with its JSON pointer. `key` identifies its meaning: a part of a schema has another key. */
interface Located {
  readonly schema: Keywords | boolean;
  readonly pointer: string;
  readonly key: string;
}

/** Schemas that all hold at once; none at all allows everything. */
export type Conjunction = readonly Located[];

export function locate(schema: unknown, pointer: string): Located {
  if (typeof schema !== 'boolean' && !isObject(schema)) {
    throw new GrammarError('there must be an object or a boolean', pointer);
  }
  return { schema, pointer, key: pointer };
}

export function child(parent: { readonly pointer: string }, schema: unknown, ...path: (string | number)[]): Located {
  const pointer = [parent.pointer, ...path.map(escapeSegment)].join('/');
  if (pointer.length > limits.pointer) {
    const reason = `the names that lead to a schema have more than ${limits.pointer} characters together`;
    throw new GrammarLimitError(reason, parent.pointer);
  }
  return locate(schema, pointer);
}

/** The schema that a reference within the same document points to. */
function resolveReference(document: unknown, reference: unknown, from: Located): Located {
  const refuse = (reason: string) => new GrammarError(reason, from.pointer, '$ref');
  if (typeof reference !== 'string') throw refuse('the reference must be a string');
  const fragment =
    isObject(document) && typeof document.$id === 'string' ? withoutBase(reference, document.$id) : reference;
  if (fragment !== '#' && !fragment.startsWith('#/'))
    throw refuse('only references within the schema (#/…) can be followed');
  let target: unknown = document;
  const segments = fragment.split('/').slice(1).map(unescapeSegment);
  for (const segment of segments) {
    const inside = typeof target === 'object' && target !== null && Object.hasOwn(target, segment);
    if (!inside) throw refuse(`${shortened(fragment)} points to nothing`);
    target = (target as Record<string, unknown>)[segment];
  }
  return locate(target, ['#', ...segments.map(escapeSegment)].join('/'));
}

function withoutBase(reference: string, base: string): string {
  const bare = base.replace(/#$/, '');
  if (reference === bare) return '#';
  return bare !== '' && reference.startsWith(`${bare}#`) ? reference.slice(bare.length) : reference;
}

function escapeSegment(segment: string | number): string {
  return String(segment).replaceAll('~', '~0').replaceAll('/', '~1');
}

function unescapeSegment(segment: string): string {
  return percentDecoded(segment).replaceAll('~1', '/').replaceAll('~0', '~');
}

const words = (text: string): readonly string[] => text.split(' ');

export type TypeName = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null';

export const typeNames: readonly TypeName[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

/** The keywords for values of one type; they imply the type if `type` is missing. */
export const keywordsOfType: Readonly<Partial<Record<TypeName, readonly string[]>>> = {
  object: words(
    'properties required additionalProperties unevaluatedProperties minProperties maxProperties propertyNames',
  ),
  array: words('items prefixItems additionalItems unevaluatedItems minItems maxItems uniqueItems'),
  string: words('minLength maxLength pattern'),
  number: words('minimum maximum exclusiveMinimum exclusiveMaximum multipleOf'),
};

const general = words('type format enum const $ref allOf anyOf oneOf');

/** Keywords that demand something a grammar cannot enforce. */
const refused = words(
  'not if dependentSchemas dependentRequired dependencies patternProperties contains minContains maxContains $dynamicRef $recursiveRef',
);

const asserting = [...general, ...refused, ...Object.values(keywordsOfType).flat()];
const relevant = [...asserting, 'then', 'else'];

/** Whether the schema has any constraint. */
function asserts({ schema }: Located): boolean {
  return typeof schema === 'boolean' ? !schema : asserting.some((keyword) => Object.hasOwn(schema, keyword));
}

/** The part without keywords that are not read here: a schema may have any number of them. */
function readPart(part: Part): Part {
  const read = relevant.filter((keyword) => Object.hasOwn(part.schema, keyword));
  return { ...part, schema: Object.fromEntries(read.map((keyword) => [keyword, part.schema[keyword]])) };
}

/** The type of a schema without other constraints than a scalar type. */
export function scalarType(schema: Keywords): TypeName | undefined {
  const { type } = schema;
  if (type === 'object' || type === 'array' || !typeNames.some((name) => name === type)) return undefined;
  const alone = asserting.every((keyword) => keyword === 'type' || !Object.hasOwn(schema, keyword));
  return alone ? (type as TypeName) : undefined;
}

function refusedKeyword(schema: Keywords): string | undefined {
  return refused.find((keyword) => Object.hasOwn(schema, keyword) && !demandsNothing(keyword, schema[keyword]));
}

/** The schema without this keyword, open for the properties that only the keyword mentions. */
function opened(schema: Keywords, keyword: string): Keywords {
  if (keyword === 'patternProperties') return { ...schema, additionalProperties: true };
  if (schema.additionalProperties !== undefined || !bringsProperties(schema, keyword)) return schema;
  return { ...schema, additionalProperties: true };
}

function bringsProperties(schema: Keywords, keyword: string): boolean {
  if (keyword === 'if') return listsProperties(schema.then) || listsProperties(schema.else);
  const value = schema[keyword];
  if (keyword !== 'dependentSchemas' && keyword !== 'dependencies') return false;
  return typeof value === 'object' && value !== null && Object.values(value).some(listsProperties);
}

function listsProperties(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && 'properties' in schema;
}

const mapKeywords = new Set(words('dependentSchemas dependentRequired dependencies patternProperties'));

/** Generators write `patternProperties: {}` and the like, which demands nothing. */
function demandsNothing(keyword: string, value: unknown): boolean {
  return mapKeywords.has(keyword) && isObject(value) && Object.keys(value).length === 0;
}

/** The types that values and keywords imply: `properties` implies an object. */
export function impliedTypes(schema: Keywords): readonly TypeName[] {
  if (Array.isArray(schema.enum)) return [...new Set(schema.enum.map(typeOf))];
  if (schema.const !== undefined) return [typeOf(schema.const)];
  return typeNames.filter((name) => keywordsOfType[name]?.some((keyword) => schema[keyword] !== undefined));
}

export function typeOf(value: unknown): TypeName {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value as TypeName;
}

/** A located schema that is an object. */
export interface Part extends Located {
  readonly schema: Keywords;
}

/**
 * Resolves references and `allOf`, and removes schemas without constraints. Equal demands give equal lists, so that their keys
 * identify a rule. Calls `giveUp` for what cannot be expressed, and omits it if that returns. Calls `spend` for each schema.
 */
export function expand(
  document: unknown,
  conjunction: Conjunction,
  giveUp: (error: GrammarError) => void,
  spend: () => void,
): Part[] {
  const parts = new Map<string, Part>();
  const waiting = [...conjunction];
  const followed = new Set<string>();
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    spend();
    if (parts.has(next.key) || followed.has(next.key) || !asserts(next)) continue;
    if (parts.size + waiting.length > limits.alternatives) {
      throw new GrammarError(`more than ${limits.alternatives} schemas are combined`, next.pointer);
    }
    if (!isPart(next)) {
      giveUp(new GrammarError('false allows no value', next.pointer));
      continue;
    }
    const part = readPart(next);
    const keyword = refusedKeyword(part.schema);
    if (keyword !== undefined) {
      giveUp(new GrammarError('a grammar cannot express this keyword', part.pointer, keyword));
      waiting.unshift(without({ ...part, schema: opened(part.schema, keyword) }, keyword));
      continue;
    }
    const { $ref: reference, allOf } = part.schema;
    if (reference === undefined && allOf === undefined) {
      parts.set(part.key, part);
      continue;
    }
    followed.add(part.key);
    const inside: Located[] = [];
    try {
      if (reference !== undefined) inside.push(resolveReference(document, reference, part));
    } catch (error) {
      if (!(error instanceof GrammarError)) throw error;
      giveUp(error);
    }
    if (allOf !== undefined) inside.push(...branches(part, 'allOf'));
    // In place of the schema that contains them, so that properties keep their order.
    waiting.unshift(...inside, without(part, '$ref', 'allOf'));
  }
  return [...parts.values()];
}

/** The branches of the first `anyOf` or `oneOf`, each with all other demands. `oneOf` is treated as `anyOf`. */
export function alternatives(parts: readonly Part[]): Conjunction[] | undefined {
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    const part = parts.find(({ schema }) => schema[keyword] !== undefined);
    if (!part) continue;
    const rest = parts.map((other) => (other === part ? without(part, keyword) : other));
    const options = branches(part, keyword).filter(({ schema }) => schema !== false);
    if (options.length === 0) throw new GrammarError('no alternative allows a value', part.pointer, keyword);
    return options.map((branch) => [...rest, branch]);
  }
  return undefined;
}

function branches(part: Part, keyword: 'allOf' | 'anyOf' | 'oneOf'): Located[] {
  const list = part.schema[keyword];
  if (!Array.isArray(list) || list.length === 0) {
    throw new GrammarError('there must be a list of schemas', part.pointer, keyword);
  }
  if (list.length > limits.alternatives) {
    throw new GrammarError(`there are more than ${limits.alternatives} schemas`, part.pointer, keyword);
  }
  return list.map((schema, index) => child(part, schema, keyword, index));
}

function without(part: Part, ...keywords: string[]): Part {
  const schema = Object.fromEntries(Object.entries(part.schema).filter(([keyword]) => !keywords.includes(keyword)));
  return { ...part, schema, key: `${part.key} without ${keywords.join(' ')}` };
}

/** The part with another value at a path inside it; undefined if there is no such path. */
function replaced(part: Part, path: string, value: unknown): Part | undefined {
  const put = (target: unknown, [segment, ...rest]: readonly string[]): unknown => {
    if (segment === undefined) return value;
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, segment)) return undefined;
    const inner = put((target as Record<string, unknown>)[segment], rest);
    if (inner === undefined) return undefined;
    return Array.isArray(target)
      ? target.map((one, index) => (String(index) === segment ? inner : one))
      : { ...target, [segment]: inner };
  };
  const schema = put(part.schema, path.split('/').map(unescapeSegment));
  return isObject(schema) ? { ...part, schema, key: `${part.key} but ${path}` } : undefined;
}

function isPart(part: Located): part is Part {
  return isObject(part.schema);
}

/** For demands that no grammar can express: `strict` rejects the schema, `loose` omits and reports them. */
export type GrammarMode = 'strict' | 'loose';

/** A demand of a schema that its grammar does not enforce. */
export interface Loosened {
  readonly pointer: string;
  /** Undefined if the whole schema at the pointer is not enforced. */
  readonly keyword: string | undefined;
}

/** Called with a demand that cannot be expressed: returns if it may be omitted, otherwise throws it. */
export type GiveUp = (error: GrammarError, at?: string) => void;

export const refuse: GiveUp = (error) => {
  throw error;
};

/** Bounds the report of a hostile schema. */
const maxNotes = 100;

/** Collects each omitted demand once, in order. */
export function noting(): { readonly giveUp: GiveUp; readonly notes: () => readonly Loosened[] } {
  const notes = new Map<string, Loosened>();
  return {
    giveUp: (error, at) => {
      if (notes.size >= maxNotes) return;
      const { keyword } = error;
      const pointer = error instanceof GrammarLimitError ? (at ?? error.pointer) : error.pointer;
      notes.set(`${pointer} ${keyword ?? ''}`, { pointer, keyword });
    },
    notes: () => [...notes.values()],
  };
}

/** The parts without the keyword or schema of the error; undefined if the error concerns no single one. */
export function withoutDemand(parts: readonly Part[], error: GrammarError): readonly Part[] | undefined {
  if (error instanceof GrammarLimitError) return undefined;
  const { keyword, pointer } = error;
  if (keyword === undefined) return withoutPlace(parts, pointer);
  const having = parts.filter(({ schema }) => Object.hasOwn(schema, keyword));
  if (having.length === 0) return undefined;
  // Errors of combined demands name the first part, whichever has the keyword.
  const blamed = having.filter((part) => part.pointer === pointer);
  const changed = new Set(blamed.length > 0 ? blamed : having);
  return parts.map((part) => (changed.has(part) ? without(typed(part), keyword) : part));
}

/** With the type that its keywords imply, as it would be lost with them. */
function typed(part: Part): Part {
  const types = part.schema.type === undefined ? impliedTypes(part.schema) : [];
  return types.length === 0 ? part : { ...part, schema: { ...part.schema, type: types } };
}

/** Replaces an invalid schema inside a part by `true`. */
function withoutPlace(parts: readonly Part[], pointer: string): readonly Part[] | undefined {
  const around = parts.find((part) => pointer.startsWith(`${part.pointer}/`));
  const changed = around && replaced(around, pointer.slice(around.pointer.length + 1), true);
  return changed && parts.map((part) => (part === around ? changed : part));
}

/** For messages: both ends of a long text. */
export function shortened(text: string): string {
  return text.length > 200 ? `${text.slice(0, 120)}…${text.slice(-60)}` : text;
}

/** An invalid schema, or one that no grammar can express. */
export class GrammarError extends AppError<'invalid-field'> {
  constructor(
    readonly reason: string,
    readonly pointer: string,
    readonly keyword?: string,
  ) {
    const location = keyword === undefined ? shortened(pointer) : `${shortened(pointer)} (${keyword})`;
    super('invalid-field', {
      field: 'schema',
      expected: `a JSON schema that a grammar can follow, but at ${location} ${reason}`,
    });
  }
}

/** The grammar is too large; no single keyword is the cause. */
export class GrammarLimitError extends GrammarError {
  constructor(reason: string, pointer = '#') {
    super(reason, pointer);
  }
}

/** Schemas are untrusted, and a small one can demand a huge grammar. The limits are far above those of real schemas. */
export const limits = {
  /** How deep schemas, values and groups of a pattern may be nested. */
  depth: 64,
  rules: 4000,
  /** A greater minimum is refused, a greater maximum is lowered to this. */
  repetition: 100_000,
  /** The engine writes every counted repetition out, so their sum is what a grammar costs there. */
  totalRepetition: 40_000,
  /** How many positions the nested counts of a pattern may have, since the engine may have to follow all of them. */
  positions: 2000,
  /** Choices that begin alike are followed side by side, each at a cost per character. */
  alternatives: 1000,
  grammarLength: 1_000_000,
  /** Characters of the property names of one object. */
  names: 100_000,
  /** Characters of the location of a schema, which each schema inside repeats. */
  pointer: 20_000,
  /**
   * Characters that are written or looked at, repeated ones included: what the conversion costs. It holds the event loop for
   * some tens of milliseconds at most.
   */
  work: 3_000_000,
} as const;

/** Limits of all schemas of one grammar together, below those of the engine. */
export const togetherLimits = {
  rules: 20_000,
  totalRepetition: 80_000,
  grammarLength: 900_000,
  /** Characters, references and choices of the rules, with counts written out. */
  steps: 460_000,
  work: 10_000_000,
} as const;
