import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { composeGrammar, schemaToGrammar } from './convert.ts';
import { formats } from './shape.ts';
import { openNativeGrammar } from './testing/native-grammar.ts';
import { samples } from './testing/schema-samples.ts';

const engine = openNativeGrammar();
const missing = 'missing' in engine ? engine.missing : undefined;
if (missing !== undefined) console.warn(`The grammar engine itself is not tested here: ${missing}.`);

describe.skipIf(missing !== undefined)('in the engine of llama.cpp', () => {
  if ('missing' in engine) return;

  function expectAll(schema: unknown, allowed: readonly unknown[], refused: readonly unknown[]): void {
    const grammar = schemaToGrammar(schema);
    for (const value of allowed) {
      expect(engineAccepts(grammar, JSON.stringify(value)), `allowed: ${JSON.stringify(value)}`).toBe(true);
      expect(engineAccepts(grammar, JSON.stringify(value, null, 2)), `printed: ${JSON.stringify(value)}`).toBe(true);
    }
    for (const value of refused) {
      expect(engineAccepts(grammar, JSON.stringify(value)), `refused: ${JSON.stringify(value)}`).toBe(false);
    }
  }
  const engineAccepts = (grammar: string, text: string) => !('missing' in engine) && engine.accepts(grammar, text);

  test('accepts values of the schema, compact and formatted, and rejects others', () => {
    fc.assert(
      fc.property(samples, ({ schema, value, wrong }) => expectAll(schema, [value], wrong.slice(0, 6))),
      { numRuns: 300 },
    );
  });

  const anything = schemaToGrammar({});
  const anyObject = schemaToGrammar({ type: 'object' });

  test('an empty schema accepts any JSON, `object` only objects', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }), (value) => {
        const text = JSON.stringify(value);
        expect(engine.accepts(anything, text)).toBe(true);
        expect(engine.accepts(anyObject, text)).toBe(text.startsWith('{'));
      }),
      { numRuns: 100 },
    );
  });

  test.each(['', '{', '{"a":}', '[1,]', '01', '+1', '.5', '1.', "{'a':1}", '{"a":1}}', '"\\x"', '"\n"', '{"a"  :  1}'])(
    'an empty schema stops %j',
    (text) => expect(engine.accepts(anything, text)).toBe(false),
  );

  test('white space: one space, or one line break with indentation', () => {
    expect(engine.begins(anything, '{ "a"')).toBe(true);
    expect(engine.begins(anything, '{\n    "a"')).toBe(true);
    expect(engine.begins(anything, '{  "a"')).toBe(false);
    expect(engine.begins(anything, '{\n\n')).toBe(false);
    expect(engine.begins(anything, `{\n${' '.repeat(21)}`)).toBe(false);
    expect(engine.begins(anything, '{} ')).toBe(false);
  });

  test.each<[string, unknown, unknown[], unknown[]]>([
    [
      'optional properties come in every combination, in order',
      { properties: { a: { type: 'null' }, b: { type: 'null' }, c: { type: 'null' } }, required: ['b'] },
      [{ b: null }, { a: null, b: null }, { b: null, c: null }, { a: null, b: null, c: null }],
      [{}, { a: null }, { b: null, a: null }, { b: null, d: null }, { a: null, c: null }],
    ],
    [
      'a property that is not listed never takes the name of a listed one',
      { properties: { ab: { type: 'integer' } }, additionalProperties: { type: 'string' } },
      [{ ab: 1 }, { ab: 1, a: 'x', abc: 'x', '': 'x', 'a"\\': 'x' }, { b: 'x' }],
      [{ ab: 'x' }, { a: 1 }, { ab: 1, c: 2 }],
    ],
    [
      'a map counts its entries',
      { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 1, maxProperties: 2 },
      [{ a: 1 }, { a: 1, b: 2 }],
      [{}, { a: 1, b: 2, c: 3 }, { a: 'x' }],
    ],
    [
      'names of a map follow their schema',
      { type: 'object', propertyNames: { pattern: '^[a-z]{2}$' }, additionalProperties: { type: 'null' } },
      [{ ab: null }, {}],
      [{ abc: null }],
    ],
    [
      'a tree recurs',
      {
        $ref: '#/$defs/node',
        $defs: {
          node: { properties: { next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } }, required: ['next'] },
        },
      },
      [{ next: null }, { next: { next: { next: null } } }],
      [{}, { next: 1 }],
    ],
    ['the whole schema recurs', { type: 'array', items: { $ref: '#' } }, [[], [[], [[]]]], [[1], {}]],
    [
      'a reference keeps what stands beside it',
      { definitions: { word: { type: 'string' } }, $ref: '#/definitions/word', maxLength: 3, description: 'short' },
      ['abc'],
      ['abcd', 1],
    ],
    [
      'allOf joins objects',
      {
        allOf: [{ $ref: '#/$defs/base' }, { properties: { b: { minimum: 2 } }, required: ['b'] }],
        properties: { b: { type: 'integer', maximum: 4 } },
        $defs: { base: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } },
      },
      [
        { a: '', b: 2 },
        { a: '', b: 4 },
      ],
      [{ a: '' }, { b: 3 }, { a: '', b: 1 }, { a: '', b: 5 }],
    ],
    [
      'what stands beside anyOf holds in each branch',
      {
        type: 'object',
        properties: { kind: { type: 'string' } },
        required: ['kind'],
        anyOf: [
          { properties: { kind: { const: 'a' } } },
          { properties: { kind: { const: 'b' }, size: { type: 'integer' } }, required: ['size'] },
        ],
      },
      [{ kind: 'a' }, { kind: 'b', size: 1 }],
      [{ kind: 'c' }, { kind: 'b' }],
    ],
    [
      'several types',
      { type: ['string', 'null', 'integer'], minimum: 0, maxLength: 2 },
      ['ab', null, 7],
      ['abc', -1, true, 1.5],
    ],
    [
      'exact values of any kind',
      { enum: ['a"b\\c\n', 1.5, null, [1, { x: [] }], {}] },
      ['a"b\\c\n', 1.5, null, [1, { x: [] }], {}],
      ['a', 1, [], [1]],
    ],
    [
      'listed values are narrowed by the type and the bounds',
      { type: 'integer', enum: ['1', 1, 2, 3], minimum: 2 },
      [2, 3],
      ['1', 1],
    ],
    [
      'an older tuple',
      { items: [{ type: 'integer' }, { type: 'string' }], additionalItems: { type: 'null' } },
      [
        [1, 'a'],
        [1, 'a', null, null],
      ],
      [[1], [], [1, 'a', 1]],
    ],
    [
      'a tuple with optional ends',
      { prefixItems: [{ type: 'integer' }, { type: 'string' }, { type: 'null' }], minItems: 1 },
      [[1], [1, 'a'], [1, 'a', null]],
      [[], [1, null], [1, 'a', null, 1]],
    ],
    ['a boolean schema', { properties: { a: true, b: false } }, [{ a: 1 }, {}, { a: { b: [] } }], [{ b: 1 }]],
    [
      'characters count, not bytes or escapes',
      { type: 'string', minLength: 2, maxLength: 2 },
      ['ab', '\n"', '日本', '🦊🦊'],
      ['a', '🦊', 'abc'],
    ],
    [
      'long texts are counted too',
      { type: 'string', minLength: 700, maxLength: 3001 },
      ['x'.repeat(700), 'x'.repeat(1234), 'x'.repeat(3001)],
      ['x'.repeat(699), 'x'.repeat(3002)],
    ],
    [
      'long lists are counted too',
      { items: { type: 'integer' }, minItems: 300, maxItems: 400 },
      [Array(300).fill(1), Array(333).fill(1), Array(400).fill(1)],
      [Array(299).fill(1), Array(401).fill(1)],
    ],
    [
      'numbers between fractions',
      { type: 'number', exclusiveMinimum: -0.25, maximum: 1.005 },
      [-0.2, -0.24999, 0, 0.5, 1, 1.005, 1.0049],
      [-0.25, -0.3, 1.006, 1.01, 2],
    ],
    [
      'numbers between fractions of one whole',
      { type: 'number', minimum: 2.125, exclusiveMaximum: 2.5 },
      [2.125, 2.13, 2.2, 2.499],
      [2.5, 2, 2.1, 2.12, 3],
    ],
    ['positive numbers', { type: 'number', exclusiveMinimum: 0 }, [1, 0.001, 12345.678], [0, -1]],
    [
      'long fractions',
      { type: 'number', minimum: 0.1234567890123456, maximum: 98765.43210987654 },
      [0.1234567890123456, 1, 98765.43210987654],
      [0.1234567890123455, 98765.4322],
    ],
    ['integers between fractions', { type: 'integer', minimum: -1.5, exclusiveMaximum: 3 }, [-1, 0, 2], [-2, 3]],
    [
      'bounds that stand for none',
      { type: 'integer', minimum: 0, maximum: 1.7976931348623157e308 },
      [0, 9007199254740991],
      [-1],
    ],
    ['an older exclusive flag', { type: 'integer', minimum: 1, exclusiveMinimum: true }, [2], [1]],
    ['multiples of one', { type: 'number', multipleOf: 1 }, [1, -20], [1.5]],
    ['a pattern without anchors', { type: 'string', pattern: 'b+' }, ['b', 'abba', 'xx b'], ['', 'aca']],
    [
      'a pattern with choices and anchors on one side',
      { type: 'string', pattern: '^ab|cd$' },
      ['ab', 'abx', 'xcd'],
      ['xab', 'cdx'],
    ],
    [
      'a pattern with everything',
      { type: 'string', pattern: '^(?:\\w+\\s)?[^"\\d]{2}(?<end>\\.|\\u0041|\\/)"\\\\.$' },
      ['ab."\\x', 'foo abA"\\\\', 'é!/"\\"'],
      ['a1."\\x', 'ab."x', 'ab."\\'],
    ],
    [
      'a pattern with a length',
      { type: 'string', pattern: '^x[a-z]+$', minLength: 3, maxLength: 4 },
      ['xab', 'xabc'],
      ['xa', 'xabcd'],
    ],
    ['stars of stars', { type: 'string', pattern: '^(a*)*(?:b+)*$' }, ['', 'aab', 'b'], ['ba']],
  ])('%s', (_, schema, allowed, refused) => expectAll(schema, allowed, refused));

  test.each<[string, string[], string[]]>([
    [
      'date',
      ['2024-02-29', '2000-02-29', '1999-12-31', '2023-04-30'],
      ['2023-02-29', '1900-02-29', '2023-04-31', '2023-13-01', '2023-00-10', '23-01-01'],
    ],
    ['time', ['00:00:00Z', '23:59:59.123+02:00'], ['24:00:00Z', '12:60:00Z', '12:00:00']],
    ['date-time', ['2024-02-29T12:00:00Z'], ['2024-02-30T12:00:00Z', '2024-02-29']],
    [
      'uuid',
      ['123e4567-e89b-12d3-a456-426614174000'],
      ['123e4567e89b12d3a456426614174000', '123e4567-e89b-12d3-a456-42661417400g'],
    ],
    ['ipv4', ['0.0.0.0', '255.249.10.1'], ['256.1.1.1', '1.1.1', '01.1.1.1']],
    ['email', ['a.b+c@example.org', 'x@y.de'], ['a@b', '@b.c', 'a b@c.de', '.a@b.de']],
  ])('format %s', (format, allowed, refused) => {
    expect(Object.keys(formats)).toContain(format);
    expectAll({ type: 'string', format }, allowed, refused);
  });

  test('a large object with optional properties stays cheap', () => {
    const names = Array.from({ length: 300 }, (_, index) => `property-${index}`);
    const schema = { properties: Object.fromEntries(names.map((name) => [name, { type: 'integer' }])) };
    expectAll(
      schema,
      [{}, { 'property-0': 1, 'property-299': 2 }, { 'property-7': 1 }],
      [{ 'property-9': 1, 'property-8': 1 }],
    );
  });

  test('a thousand enum values', () => {
    const values = Array.from({ length: 1000 }, (_, index) => `the value number ${index}`);
    expectAll({ enum: values }, [values[0], values[999]], ['the value number']);
  });

  test('composeGrammar: schemas inside a larger text', () => {
    const strict = (type: string) =>
      ({ schema: { properties: { a: { type } }, required: ['a'] }, mode: 'strict' }) as const;
    const { grammar } = composeGrammar('"<call>" (first | second-one) "</call>"', {
      first: strict('integer'),
      'second-one': strict('string'),
    });
    expect(engine.accepts(grammar, '<call>{"a": 1}</call>')).toBe(true);
    expect(engine.accepts(grammar, '<call>{"a": "x"}</call>')).toBe(true);
    expect(engine.accepts(grammar, '<call>{"a": null}</call>')).toBe(false);
    expect(engine.accepts(grammar, '{"a": 1}')).toBe(false);
  });
});
