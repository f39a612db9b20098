import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { composeGrammar, schemaToGrammar } from './convert.ts';
import { GrammarError, type Loosened } from './schema.ts';
import { openNativeGrammar } from './testing/native-grammar.ts';
import { samples } from './testing/schema-samples.ts';

const engine = openNativeGrammar();
const missing = 'missing' in engine;

interface Made {
  readonly grammar: string;
  readonly loosened: readonly Loosened[];
}

function loosely(schema: unknown, only?: 'object'): Made {
  const { grammar, loosened } = composeGrammar('it', { it: { schema, mode: 'loose', ...(only ? { only } : {}) } });
  return { grammar, loosened: loosened.get('it') ?? [] };
}

const told = (schema: unknown): string[] =>
  loosely(schema).loosened.map(({ pointer, keyword }) => (keyword === undefined ? pointer : `${pointer} ${keyword}`));

const property = (schema: unknown) => ({ type: 'object', properties: { a: schema }, required: ['a'] });
/** `if` and `then`; written out, the linter would take it for a promise. */
const conditional = (follows: unknown): object =>
  Object.fromEntries([
    ['if', { required: ['a'] }],
    ['then', follows],
  ]);
const manyWords = Array.from({ length: 1001 }, (_, index) => `word ${index}`);

describe('loose mode: omits and reports what no grammar can express', () => {
  test.each<[unknown, string[]]>([
    [property({ type: 'number', multipleOf: 0.01 }), ['#/properties/a multipleOf']],
    [property({ type: 'string', not: { const: 'x' } }), ['#/properties/a not']],
    [property({ type: 'string', pattern: '^(?=a).*$' }), ['#/properties/a pattern']],
    [property({ enum: manyWords }), ['#/properties/a enum']],
    [{ patternProperties: { '^a': { type: 'string' } } }, ['# patternProperties']],
    [conditional({ required: ['b'] }), ['# if']],
    [property({ type: 'array', contains: { type: 'string' } }), ['#/properties/a contains']],
    [property({ type: 'array', uniqueItems: true }), ['#/properties/a uniqueItems']],
    [{ dependentRequired: { a: ['b'] } }, ['# dependentRequired']],
    [property({ $ref: '#/$defs/missing' }), ['#/properties/a $ref']],
    [property({ $ref: 'https://example.org/schema' }), ['#/properties/a $ref']],
    [property({ type: 'date' }), ['#/properties/a type']],
    [property({ anyOf: [] }), ['#/properties/a anyOf']],
    [property({ minLength: 'long' }), ['#/properties/a minLength']],
    [property({ type: 'integer', minimum: 3, maximum: 2 }), ['#/properties/a maximum']],
    [property({ anyOf: [{ $ref: '#/properties/a' }] }), ['#/properties/a']],
    [{ properties: { a: 3, b: { type: 'string' } } }, ['#/properties/a']],
    [{ properties: { 'a/b': 3 } }, ['#/properties/a~1b']],
    [property({ type: 'number', multipleOf: 0.5, not: {} }), ['#/properties/a not', '#/properties/a multipleOf']],
  ])('%j', (schema, expected) => expect(told(schema)).toEqual(expected));

  test('reports nothing for a schema that a grammar can express', () => {
    fc.assert(
      fc.property(samples, ({ schema }) => {
        const { grammar, loosened } = loosely(schema);
        expect(loosened).toEqual([]);
        const rules = (text: string) => text.split('\n').length;
        expect(rules(grammar)).toBeGreaterThanOrEqual(rules(schemaToGrammar(schema)));
      }),
      { numRuns: 100 },
    );
  });

  test('a strict schema beside a loose one is still rejected', () => {
    const wrong = property({ type: 'number', multipleOf: 0.01 });
    expect(() =>
      composeGrammar('a b', { a: { schema: wrong, mode: 'loose' }, b: { schema: wrong, mode: 'strict' } }),
    ).toThrow(GrammarError);
  });

  test('reports each demand once', () => {
    const schema = {
      $defs: { amount: { type: 'number', multipleOf: 0.01 } },
      properties: {
        a: { $ref: '#/$defs/amount' },
        b: { items: { $ref: '#/$defs/amount' } },
        c: { $ref: '#/$defs/amount' },
      },
    };
    expect(told(schema)).toEqual(['#/$defs/amount multipleOf']);
  });
});

describe.skipIf(missing)('in the engine', () => {
  if ('missing' in engine) return;
  const accepts = ({ grammar }: Made, value: unknown) => engine.accepts(grammar, JSON.stringify(value));

  function expectAll(made: Made, allowed: readonly unknown[], refused: readonly unknown[]): void {
    for (const value of allowed) expect(accepts(made, value), `allowed: ${JSON.stringify(value)}`).toBe(true);
    for (const value of refused) expect(accepts(made, value), `refused: ${JSON.stringify(value)}`).toBe(false);
  }

  test.each<[string, unknown, unknown[], unknown[]]>([
    [
      'the type and the other bounds of a number stay',
      property({ type: 'number', multipleOf: 0.01, minimum: 0 }),
      [{ a: 0.005 }, { a: 7 }],
      [{ a: -1 }, { a: 'x' }, {}],
    ],
    ['a number is one by its keyword alone', property({ multipleOf: 0.01 }), [{ a: 0.3 }], [{ a: 'x' }]],
    [
      'the length of a text stays when its pattern goes',
      property({ pattern: '^(?=a).*$', maxLength: 3 }),
      [{ a: 'xyz' }],
      [{ a: 'wxyz' }, { a: 1 }],
    ],
    [
      'a list that is too long becomes its type',
      property({ enum: manyWords }),
      [{ a: 'else' }],
      [{ a: 1 }, { a: null }],
    ],
    [
      'numbers and texts in such a list become both',
      property({ enum: [...manyWords, 7] }),
      [{ a: 'else' }, { a: 3 }],
      [{ a: null }, { a: 1.5 }],
    ],
    [
      'properties by pattern may be written',
      { properties: { a: { type: 'integer' } }, patternProperties: { '^x-': {} }, additionalProperties: false },
      [{ a: 1, 'x-b': 'c' }, { 'x-b': 'c' }],
      [{ a: 'x' }],
    ],
    [
      'properties that only a condition speaks of may be written',
      { ...property({ type: 'string' }), ...conditional({ properties: { b: { type: 'string' } } }) },
      [{ a: 'x' }, { a: 'x', b: 'y' }],
      [{ b: 'y' }],
    ],
    [
      'an object that says itself that it has no others keeps to that',
      { ...property({ type: 'string' }), additionalProperties: false, if: {}, else: { properties: { b: {} } } },
      [{ a: 'x' }],
      [{ a: 'x', b: 'y' }],
    ],
    [
      'what is no schema allows everything, and the rest stays',
      { properties: { a: 3, b: { type: 'integer' } }, required: ['a', 'b'] },
      [
        { a: 'x', b: 1 },
        { a: [1], b: 1 },
      ],
      [{ a: 'x', b: 'y' }, { a: 1 }],
    ],
    [
      'a schema that refers to itself and to nothing else is any JSON',
      property({ anyOf: [{ $ref: '#/properties/a' }] }),
      [{ a: 1 }, { a: { b: [null] } }],
      [{}],
    ],
    [
      'a choice keeps its good branches',
      property({ anyOf: [{ type: 'integer', not: { const: 3 } }, { type: 'null' }] }),
      [{ a: 4 }, { a: null }],
      [{ a: 'x' }],
    ],
  ])('%s', (_, schema, allowed, refused) => expectAll(loosely(schema), allowed, refused));

  test.each([
    [{}],
    [true],
    [{ type: 'object' }],
    [{ type: 'string' }],
    [{ type: ['string', 'object'] }],
    [{ enum: ['a'] }],
    [{ $ref: '#/x' }],
    [false],
    [7],
  ])('only object: %j gives an object', (schema) =>
    expectAll(loosely(schema, 'object'), [{}, { a: 1 }], ['text', 7, [1], null]),
  );

  test('only object: inner values may be anything', () => {
    const schema = { properties: { inner: { $ref: '#' }, other: {} } };
    expectAll(loosely(schema, 'object'), [{ inner: { other: 'x' } }, { other: [1] }], ['x', { inner: 3 }]);
  });

  test('references start at the root of their own schema', () => {
    const own = (type: string) => ({
      $defs: { it: { type } },
      properties: { a: { $ref: '#/$defs/it' } },
      required: ['a'],
    });
    const { grammar } = composeGrammar('"1" one | "2" two', {
      one: { schema: own('string'), mode: 'loose', only: 'object' },
      two: { schema: own('integer'), mode: 'loose', only: 'object' },
    });
    expect(engine.accepts(grammar, '1{"a":"x"}')).toBe(true);
    expect(engine.accepts(grammar, '1{"a":1}')).toBe(false);
    expect(engine.accepts(grammar, '2{"a":1}')).toBe(true);
    expect(engine.accepts(grammar, '2{"a":"x"}')).toBe(false);
  });

  test('any schema: the grammar is valid and accepts an object', () => {
    const keyword = fc.constantFrom(
      { multipleOf: 0.3 },
      { not: {} },
      { pattern: '(?!x)' },
      { enum: manyWords },
      { type: 'date' },
      { $ref: '#/nowhere' },
      { $ref: '#' },
      { patternProperties: { a: {} } },
      { minItems: 5, maxItems: 2 },
      { minProperties: 7 },
      { required: ['z'], additionalProperties: false },
      { maxLength: 90_000 },
      { anyOf: [{ $ref: '#' }] },
      { allOf: [{ type: 'string' }, { type: 'null' }] },
      { items: 3 },
      false,
    );
    const schemas = fc.array(keyword, { maxLength: 4 }).map((list) => ({
      ...Object.assign({}, ...list.filter(Boolean)),
      properties: Object.fromEntries(list.map((schema, index) => [`p${index}`, schema])),
    }));
    fc.assert(
      fc.property(schemas, (schema) => {
        const { grammar } = loosely(schema, 'object');
        expect(engine.parses(grammar)).toBe(true);
        expect(engine.begins(grammar, '{')).toBe(true);
        expect(engine.begins(grammar, '"')).toBe(false);
      }),
      { numRuns: 150 },
    );
  });
});

describe('loose mode: hostile schemas are bounded', () => {
  const nested = (depth: number): unknown => (depth === 0 ? {} : { items: nested(depth - 1) });
  const properties = (count: number, schema: (index: number) => unknown) => ({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, schema(index)])),
  });
  test.each<[string, unknown]>([
    ['very deep schemas', property(nested(100))],
    ['counts of counts', property({ pattern: '^((a{1,900}){1,900}){1,900}$' })],
    ['a great minimum', property({ type: 'string', minLength: 1e9 })],
    ['many counts', properties(300, (index) => ({ type: 'string', maxLength: 200 + (index % 50) }))],
    ['many rules', properties(5000, () => ({ enum: ['a', 'b'] }))],
    ['many long names', properties(300, (index) => ({ enum: [`${index}${'x'.repeat(5000)}`] }))],
    [
      'products of choices',
      property({
        allOf: Array.from({ length: 12 }, (_, at) => ({
          anyOf: Array.from({ length: 6 }, (_, index) => ({ minLength: at * index })),
        })),
      }),
    ],
  ])('%s', (_, schema) => {
    const { grammar, loosened } = loosely(schema, 'object');
    expect(loosened.length).toBeGreaterThan(0);
    expect(loosened.length).toBeLessThanOrEqual(100);
    expect(grammar.length).toBeLessThan(1_100_000);
    if (!('missing' in engine)) {
      expect(engine.parses(grammar)).toBe(true);
      expect(engine.begins(grammar, '{')).toBe(true);
    }
  });

  test('a schema that is too large does not use the limits of the next', () => {
    const large = properties(5000, () => ({ enum: ['a', 'b'] }));
    const { loosened } = composeGrammar('one two', {
      one: { schema: large, mode: 'loose' },
      two: { schema: property({ enum: ['a', 'b'] }), mode: 'loose' },
    });
    expect([...loosened.keys()]).toEqual(['one']);
  });
});
