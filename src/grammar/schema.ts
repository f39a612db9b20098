import { GrammarError } from './limits.ts';

export type Keywords = Readonly<Record<string, unknown>>;

/** A schema and where it stands. `key` names its meaning: parts of a schema have a key of their own. */
export interface Located {
  readonly schema: Keywords | boolean;
  readonly pointer: string;
  readonly key: string;
}

/** Schemas that all hold at once; none at all allows everything. */
export type Conjunction = readonly Located[];

export function locate(schema: unknown, pointer: string): Located {
  if (typeof schema !== 'boolean' && !isRecord(schema)) {
    throw new GrammarError('there must be an object or a boolean', pointer);
  }
  return { schema, pointer, key: pointer };
}

export function child(parent: { readonly pointer: string }, schema: unknown, ...path: (string | number)[]): Located {
  return locate(schema, [parent.pointer, ...path.map(escapeSegment)].join('/'));
}

export function isRecord(value: unknown): value is Keywords {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The schema that a reference within the same document points to. */
export function resolveReference(document: unknown, reference: unknown, from: Located): Located {
  const refuse = (reason: string) => new GrammarError(reason, from.pointer, '$ref');
  if (typeof reference !== 'string') throw refuse('the reference must be a string');
  const fragment =
    isRecord(document) && typeof document.$id === 'string' ? withoutBase(reference, document.$id) : reference;
  if (fragment !== '#' && !fragment.startsWith('#/'))
    throw refuse('only references within the schema (#/…) can be followed');
  let target: unknown = document;
  const segments = fragment.split('/').slice(1).map(unescapeSegment);
  for (const segment of segments) {
    const inside = typeof target === 'object' && target !== null && Object.hasOwn(target, segment);
    if (!inside) throw refuse(`${fragment} points to nothing`);
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

export function unescapeSegment(segment: string): string {
  let text = segment;
  try {
    text = decodeURIComponent(segment);
  } catch {
    // A bare percent sign is not valid in a URI, but people write it, and it can only mean itself.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~');
}

export type TypeName = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null';

export const typeNames: readonly TypeName[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

/** The keywords that say something about values of one type; they also tell the type where `type` is missing. */
export const keywordsOfType: Readonly<Partial<Record<TypeName, readonly string[]>>> = {
  object: [
    'properties',
    'required',
    'additionalProperties',
    'unevaluatedProperties',
    'minProperties',
    'maxProperties',
    'propertyNames',
  ],
  array: ['items', 'prefixItems', 'additionalItems', 'unevaluatedItems', 'minItems', 'maxItems', 'uniqueItems'],
  string: ['minLength', 'maxLength', 'pattern'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
};

const general = ['type', 'format', 'enum', 'const', '$ref', 'allOf', 'anyOf', 'oneOf'];

/** Keywords that demand something a grammar cannot promise. */
const refused = [
  'not',
  'if',
  'dependentSchemas',
  'dependentRequired',
  'dependencies',
  'patternProperties',
  'contains',
  'minContains',
  'maxContains',
  '$dynamicRef',
  '$recursiveRef',
];

const asserting = new Set([...general, ...refused, ...Object.values(keywordsOfType).flat()]);

/** Whether the schema says anything at all beside titles, descriptions, definitions and the like. */
export function asserts({ schema }: Located): boolean {
  return typeof schema === 'boolean' ? !schema : Object.keys(schema).some((keyword) => asserting.has(keyword));
}

/** The type of a schema that says no more than that its value is a scalar. */
export function scalarType(schema: Readonly<Record<string, unknown>>): TypeName | undefined {
  const { type } = schema;
  if (type === 'object' || type === 'array' || !typeNames.some((name) => name === type)) return undefined;
  const alone = Object.keys(schema).every((keyword) => keyword === 'type' || !asserting.has(keyword));
  return alone ? (type as TypeName) : undefined;
}

export function refusedKeyword(schema: Readonly<Record<string, unknown>>): string | undefined {
  return refused.find((keyword) => Object.hasOwn(schema, keyword) && !demandsNothing(keyword, schema[keyword]));
}

/**
 * The schema as it must be read when this keyword is left out. Properties that only the keyword speaks of would otherwise
 * be forbidden, since an object that lists properties has no others.
 */
export function opened(schema: Readonly<Record<string, unknown>>, keyword: string): Readonly<Record<string, unknown>> {
  if (keyword === 'patternProperties') return { ...schema, additionalProperties: true };
  if (schema.additionalProperties !== undefined || !bringsProperties(schema, keyword)) return schema;
  return { ...schema, additionalProperties: true };
}

function bringsProperties(schema: Readonly<Record<string, unknown>>, keyword: string): boolean {
  if (keyword === 'if') return listsProperties(schema.then) || listsProperties(schema.else);
  const given = schema[keyword];
  if (keyword !== 'dependentSchemas' && keyword !== 'dependencies') return false;
  return typeof given === 'object' && given !== null && Object.values(given).some(listsProperties);
}

function listsProperties(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && 'properties' in schema;
}

const mapKeywords = new Set(['dependentSchemas', 'dependentRequired', 'dependencies', 'patternProperties']);

/** Generators write `patternProperties: {}` and the like, which demands nothing. */
function demandsNothing(keyword: string, value: unknown): boolean {
  if (!mapKeywords.has(keyword)) return false;
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}

/** Without `type`, values and keywords tell what is meant: `properties` alone is about an object. None: anything. */
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
