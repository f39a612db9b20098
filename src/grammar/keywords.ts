import type { Located } from './located.ts';

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
