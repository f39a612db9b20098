import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { composeGrammar, schemaToGrammar } from './convert.ts';
import { GrammarError, limits, togetherLimits } from './schema.ts';
import { accepts, compileGbnf, machineOf } from './testing/recognise.ts';

type Schema = Record<string, unknown>;

const many = (count: number, one: (index: number) => unknown) => Array.from({ length: count }, (_, i) => one(i));
const named = (count: number, one: (index: number) => [string, unknown]): Schema =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => one(index)));

/** Schemas that grow with `size`: what one client can send in one request. */
const hostile: Readonly<Record<string, (size: number) => Schema>> = {
  'a long name': (size) => ({ properties: { ['a'.repeat(size)]: true }, additionalProperties: true }),
  'many names': (size) => ({ properties: named(size, (i) => [`n${i}`, true]), additionalProperties: true }),
  'names with a common prefix': (size) => ({
    properties: named(size, (i) => [`${'prefix_'.repeat(10)}${i}`, true]),
    additionalProperties: true,
  }),
  'names without a common character': (size) => ({
    properties: named(size, (i) => [String.fromCodePoint(0x10000 + 2 * i), true]),
    additionalProperties: true,
  }),
  'many optional properties': (size) => ({ properties: named(size, (i) => [`n${i}`, { minimum: i }]) }),
  'many required names': (size) => ({ required: many(size, (i) => `n${i}`), additionalProperties: true }),
  'a long name around many properties': (size) => ({
    properties: { ['a'.repeat(size)]: { properties: named(size, (i) => [`n${i}`, { minimum: i }]) } },
  }),
  'many parts of allOf with many properties': (size) => ({
    allOf: many(Math.min(size, 900), (i) => ({
      properties: named(Math.min(size / 100, 40), (j) => [`a${i}-${j}`, true]),
    })),
    additionalProperties: true,
  }),
  'a chain of references': (size) => ({
    $ref: '#/$defs/d0',
    $defs: named(size, (i) => [`d${i}`, { $ref: `#/$defs/d${(i + 1) % size}` }]),
  }),
  'references that double': (size) => ({
    $ref: '#/$defs/d0',
    $defs: named(size, (i) => [`d${i}`, { allOf: many(2, () => ({ $ref: `#/$defs/d${i + 1}` })) }]),
  }),
  'references to a schema with many keywords': (size) => ({
    properties: named(size, (i) => [`n${i}`, { $ref: '#/$defs/x', minProperties: 0 }]),
    $defs: { x: { type: 'object', not: {}, ...named(size, (i) => [`x-${i}`, {}]) } },
  }),
  'products of choices': (size) => ({
    allOf: many(12, (k) => ({ anyOf: many(Math.min(size, 900), (i) => ({ properties: { [`a${k}${i}`]: {} } })) })),
  }),
  'a long constant': (size) => ({ const: named(size, (i) => [`k${i}`, i]) }),
  'long patterns': (size) => ({
    properties: named(Math.min(size, 4000), (i) => [
      `p${i}`,
      { type: 'string', pattern: `^${'\\W'.repeat(900)}${i}$` },
    ]),
  }),
  formats: (size) => ({ properties: named(size, (i) => [`p${i}`, { type: 'string', format: 'date-time' }]) }),
  'ranges of numbers': (size) => ({
    properties: named(size, (i) => [`p${i}`, { type: 'number', minimum: 0.123456789 + i, maximum: 98765432.1 + i }]),
  }),
  'ranges of tiny numbers': (size) => ({
    properties: named(size, (i) => [`p${i}`, { type: 'number', minimum: 5e-324 * (i + 1), maximum: 1e-300 }]),
  }),
  counts: (size) => ({ properties: named(size, (i) => [`p${i}`, { type: 'string', maxLength: 200 + i }]) }),
  'invalid schemas': (size) => ({ properties: named(size, (i) => [`p${i}`, 7]) }),
  'invalid types': (size) => ({ properties: named(size, (i) => [`p${i}`, { type: `t${i}` }]) }),
};

describe.each(Object.entries(hostile))('schema of growing size: %s', (_, make) => {
  test.each([400, 20_000])('%i: strict conversion is refused with a GrammarError or within the limits', (size) => {
    const schema = make(size);
    try {
      expect(schemaToGrammar(schema).length).toBeLessThanOrEqual(togetherLimits.grammarLength * 1.1);
    } catch (error) {
      expect(error).toBeInstanceOf(GrammarError);
      expect((error as Error).message.length).toBeLessThan(1000);
    }
  });

  test.each([400, 20_000])('%i: loose conversion gives a grammar that the engine compiles', (size) => {
    const { grammar } = composeGrammar('a', { a: { schema: make(size), mode: 'loose', only: 'object' } });
    expect(compileGbnf(grammar, () => undefined).operations.length).toBeGreaterThan(0);
  });
});

describe('schemaToGrammar: refusals name what is too large and the limit', () => {
  const refusal = (schema: Schema) => {
    try {
      return schemaToGrammar(schema);
    } catch (error) {
      return (error as Error).message;
    }
  };

  test.each([
    [
      'count of properties',
      { properties: named(5000, (i) => [`n${i}`, true]) },
      `more than ${limits.rules} properties`,
    ],
    [
      'length of names',
      { properties: { ['a'.repeat(200_000)]: true } },
      `the property names have more than ${limits.names} characters`,
    ],
    [
      'names to differ from',
      { properties: { ['a'.repeat(10_000)]: true }, additionalProperties: true },
      `to tell additional properties from the listed names takes more than ${limits.rules} rules`,
    ],
    [
      'location',
      { properties: { ['a'.repeat(30_000)]: true } },
      `the names that lead to a schema have more than ${limits.pointer} characters`,
    ],
    [
      'work',
      { properties: named(2000, (i) => [`p${i}`, { type: 'string', pattern: `^${'\\W'.repeat(900)}${i}$` }]) },
      `takes more than ${limits.work} steps`,
    ],
  ])('%s', (_, schema, reason) => expect(refusal(schema)).toContain(reason));
});

describe('additional properties', () => {
  test('the size of the grammar is linear in the length of a name', () => {
    const length = (size: number) => schemaToGrammar(hostile['a long name']?.(size)).length;
    expect(length(2000) / length(1000)).toBeLessThan(2.2);
  });

  test('names with a common prefix share its rules', () => {
    const rules = (schema: Schema) => schemaToGrammar(schema).split('\n').length;
    const prefix = 'p'.repeat(100);
    const few = rules({ properties: { [`${prefix}0`]: true }, additionalProperties: true });
    const more = rules({ properties: named(10, (i) => [`${prefix}${i}`, true]), additionalProperties: true });
    expect(more - few).toBeLessThan(40);
  });

  const name = fc.oneof(
    fc.constantFrom(
      '',
      'a',
      'ab',
      'abc',
      'b',
      '"',
      '\\',
      '\n',
      '\\n',
      '\u0001',
      'é',
      'e\u0301',
      '😀',
      '😁',
      '__proto__',
      'constructor',
    ),
    fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', '\t', 'ü', '😀'), maxLength: 4 }),
  );
  const member = (key: string, value: unknown) => `{${JSON.stringify(key)}: ${JSON.stringify(value)}}`;

  test('property: a listed name has its own schema, any other name that of the others', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(name, { minLength: 1, maxLength: 6 }),
        fc.array(name, { maxLength: 4 }),
        (listed, more) => {
          const properties = Object.fromEntries(listed.map((key) => [key, { const: 1 }]));
          const machine = machineOf(
            schemaToGrammar({ type: 'object', properties, additionalProperties: { const: 2 } }),
          );
          for (const key of [
            ...listed,
            ...more,
            ...listed.map((one) => `${one}a`),
            ...listed.map((one) => one.slice(0, -1)),
          ]) {
            // Half a surrogate pair is no text, and few control characters are allowed in names that are not listed.
            if (/\p{Cs}/u.test(key) || (key.includes('\u0001') && !listed.includes(key))) continue;
            expect([key, accepts(machine, member(key, 1))]).toEqual([key, listed.includes(key)]);
            expect([key, accepts(machine, member(key, 2))]).toEqual([key, !listed.includes(key)]);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test('an escape does not evade a listed name', () => {
    const machine = machineOf(
      schemaToGrammar({ properties: { ab: { const: 1 } }, additionalProperties: { const: 2 } }),
    );
    expect(accepts(machine, '{"\\u0061b": 2}')).toBe(false);
    expect(accepts(machine, '{"abc": 2}')).toBe(true);
    expect(accepts(machine, '{"a": 2}')).toBe(true);
    expect(accepts(machine, '{"": 2}')).toBe(true);
  });
});
