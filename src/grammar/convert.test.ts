import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import { composeGrammar, schemaToGrammar } from './convert.ts';
import { literal, ruleName, stepsOf } from './gbnf.ts';
import { GrammarError } from './schema.ts';

function refusal(schema: unknown): GrammarError {
  try {
    schemaToGrammar(schema);
  } catch (error) {
    if (error instanceof GrammarError) return error;
    throw error;
  }
  throw new Error('the schema was taken');
}

test('schemaToGrammar: a small schema gives a small grammar', () => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0, maximum: 150 } },
  };
  expect(schemaToGrammar({ ...schema, required: ['name', 'age'] }).split('\n')).toMatchObject([
    'root ::= schema',
    'blank ::= (" " | "\\n" [ \\t]{0,20})?',
    expect.stringMatching(/^character ::= /),
    'string ::= "\\"" character* "\\""',
    'age ::= ([0-9] | "1" ([0-4] [0-9] | "5" "0") | [1-9] [0-9])',
    'member ::= "\\"age\\"" ":" blank age',
    'member-2 ::= "\\"name\\"" ":" blank string',
    'schema ::= "{" blank member-2 "," blank member blank "}"',
    '',
  ]);
});

test('schemaToGrammar: a schema without constraints is any JSON', () => {
  const anything = schemaToGrammar({});
  expect(anything).toContain('value ::= object | array | string | number | ("true" | "false") | "null"');
  expect(schemaToGrammar(true)).toBe(anything);
  expect(schemaToGrammar({ title: 'Anything', description: 'x', default: 1, $schema: 'https://example.org/' })).toBe(
    anything,
  );
});

test('schemaToGrammar: writes properties in the order of the schema, not of `required`', () => {
  const schema = { properties: { a: { const: 1 }, b: { const: 2 }, c: { const: 3 } }, required: ['c', 'b', 'a'] };
  const order = (grammar: string) => {
    const names = new Map([...grammar.matchAll(/^(member\S*) ::= "\\"(.)/gm)].map(([, rule, name]) => [rule, name]));
    const root = /^schema ::= (.*)$/m.exec(grammar)?.[1] ?? '';
    const all = `${root} ${[...grammar.matchAll(/^next\S* ::= (.*)$/gm)]
      .map(([, body]) => body)
      .reverse()
      .join(' ')}`;
    return (all.match(/member\S*/g) ?? []).map((rule) => names.get(rule)).join('');
  };
  expect(order(schemaToGrammar(schema))).toBe('abc');
});

test('GrammarError: names pointer and keyword, and is an AppError of status 400', () => {
  const error = refusal({ properties: { 'a/b': { not: { type: 'string' } } } });
  expect(error).toMatchObject({ pointer: '#/properties/a~1b', keyword: 'not', code: 'invalid-field', status: 400 });
  expect(error).toBeInstanceOf(AppError);
  expect(error.message).toBe(
    'schema must be a JSON schema that a grammar can follow, but at #/properties/a~1b (not) a grammar cannot express this keyword.',
  );
});

describe('schemaToGrammar: rejects what a grammar cannot enforce', () => {
  test.each<[string, unknown]>([
    ['patternProperties', { patternProperties: { '^a': {} } }],
    ['if', { if: {} }],
    ['dependentSchemas', { dependentSchemas: { a: {} } }],
    ['contains', { type: 'array', contains: {} }],
    ['uniqueItems', { type: 'array', uniqueItems: true }],
    ['multipleOf', { type: 'number', multipleOf: 0.5 }],
    ['minProperties', { properties: { a: {}, b: {} }, minProperties: 1 }],
    ['maxProperties', { properties: { a: {}, b: {} }, maxProperties: 1 }],
    ['propertyNames', { properties: { a: {} }, additionalProperties: true, propertyNames: { maxLength: 2 } }],
    ['required', { properties: { a: {} }, required: ['b'], additionalProperties: false }],
    ['maximum', { type: 'integer', minimum: 3, maximum: 2 }],
    ['minItems', { type: 'array', minItems: 3, maxItems: 2 }],
    ['minItems', { prefixItems: [{}], items: false, minItems: 2 }],
    ['type', { type: 'text' }],
    ['type', { allOf: [{ type: 'string' }, { type: 'null' }] }],
    ['enum', { enum: [] }],
    ['enum', { type: 'string', enum: [1, 2] }],
    ['pattern', { enum: ['a'], pattern: 'a' }],
    ['pattern', { pattern: '(?=a)' }],
    ['pattern', { pattern: '(a)\\1' }],
    ['pattern', { pattern: 'a^b' }],
    ['pattern', { pattern: '\\bword' }],
    ['pattern', { pattern: '(a' }],
    ['pattern', { pattern: 'a)' }],
    ['pattern', { pattern: '[b-a]' }],
    ['pattern', { pattern: '*' }],
    ['pattern', { pattern: '^(a|b?)*$' }],
    ['pattern', { pattern: '^a+b+$', maxLength: 4 }],
    ['pattern', { allOf: [{ pattern: 'a' }, { pattern: 'b' }] }],
    ['pattern', { pattern: 1 }],
    ['$ref', { $ref: 'https://example.org/schema' }],
    ['$ref', { $ref: '#/$defs/missing' }],
    ['$ref', { $ref: '#/$defs/__proto__', $defs: {} }],
    ['anyOf', { anyOf: [] }],
    ['anyOf', { anyOf: [false] }],
    ['properties', { properties: [] }],
    ['minimum', { minimum: '3' }],
    ['maxLength', { maxLength: -1 }],
  ])('%s in %j', (keyword, schema) => {
    expect(refusal(schema).keyword).toBe(keyword);
  });

  test.each([
    [null],
    [1],
    ['string'],
    [[]],
    [false],
    [{ properties: { a: 3 } }],
    [{ allOf: [{ type: 'string' }, false] }],
  ])('rejects %j: no value or no schema', (schema) =>
    expect(refusal(schema).message).toMatch(/^schema must be a JSON schema/),
  );
});

describe('schemaToGrammar: rejects hostile schemas early', () => {
  const nested = (depth: number): unknown => (depth === 0 ? {} : { items: nested(depth - 1) });
  test.each<[string, unknown]>([
    ['references in a circle', { $ref: '#', type: 'string', anyOf: [{ $ref: '#' }, {}] }],
    ['a choice of itself', { anyOf: [{ $ref: '#' }, { $ref: '#' }] }],
    [
      'definitions in a circle',
      {
        anyOf: [{ $ref: '#/$defs/a' }],
        $defs: { a: { oneOf: [{ $ref: '#/$defs/b' }] }, b: { anyOf: [{ $ref: '#/$defs/a' }] } },
      },
    ],
    ['very deep schemas', nested(100)],
    ['counts of counts', { pattern: '^((a{1,900}){1,900}){1,900}$' }],
    ['a pattern of brackets', { pattern: `${'('.repeat(500)}${')'.repeat(500)}` }],
    ['a long pattern', { pattern: 'a'.repeat(3000) }],
    ['a great minimum', { type: 'string', minLength: 1e9 }],
    [
      'many counts',
      {
        properties: Object.fromEntries(
          Array.from({ length: 300 }, (_, index) => [`p${index}`, { type: 'string', maxLength: 200 + (index % 50) }]),
        ),
      },
    ],
    ['many rules', { properties: Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`p${index}`, {}])) }],
    ['many choices', { enum: Array.from({ length: 1001 }, (_, index) => index) }],
    [
      'products of choices',
      {
        allOf: Array.from({ length: 12 }, (_, at) => ({
          anyOf: Array.from({ length: 6 }, (_, index) => ({ minLength: at * index })),
        })),
      },
    ],
  ])('%s', (_, schema) => {
    expect(refusal(schema).message).toMatch(/^schema must be a JSON schema/);
  });
});

test('schemaToGrammar: a self-reference without constraints allows everything', () => {
  expect(schemaToGrammar({ $ref: '#' })).toBe(schemaToGrammar({}));
});

test('literal, ruleName: the engine can read them', () => {
  expect(literal('a"b\\c\n\t\u0001\u007fé🦊')).toBe('"a\\"b\\\\c\\n\\t\\x01\\x7Fé🦊"');
  expect([ruleName('a b_c'), ruleName('日本'), ruleName('1st'), ruleName('-x-')]).toEqual([
    'a-b-c',
    'rule-x',
    'rule-1st',
    'x',
  ]);
});

test('composeGrammar: rejects invalid rule names', () => {
  expect(() => composeGrammar('a_b', { a_b: { schema: {}, mode: 'strict' } })).toThrow(RangeError);
  expect(() => composeGrammar('root', { root: { schema: {}, mode: 'strict' } })).toThrow(RangeError);
});

test.each([
  ['"abc"', 3],
  ['"a\\n\\"b"', 4],
  ['[a-z"\\]]', 1],
  ['one two-3', 2],
  ['"a" (one | [0-9])*', 5],
  ['', 0],
])('stepsOf: %s has %d steps', (body, steps) => expect(stepsOf(body)).toBe(steps));
