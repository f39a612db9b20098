import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { looseFlag, looseNumber, looseTexts, looseWhole } from './loose.ts';
import {
  anyValue,
  described,
  listOf,
  objectOf,
  oneOf,
  optional,
  orElse,
  type Read,
  readCount,
  readFlag,
  readList,
  readName,
  readNumber,
  readObject,
  readText,
  readWhole,
  wholeBetween,
  word,
} from './readers.ts';
import {
  approximated,
  aside,
  fidelityOf,
  group,
  honoured,
  ignored,
  places,
  refused,
  tableSchema,
  withSchema,
} from './table.ts';

describe('schema of a reader', () => {
  test.each<[Read<unknown>, object]>([
    [readText, { type: 'string' }],
    [readName, { type: 'string', minLength: 1 }],
    [readFlag, { type: 'boolean' }],
    [readNumber, { type: 'number' }],
    [readWhole, { type: 'integer' }],
    [readCount, { type: 'integer', minimum: 0 }],
    [readObject, { type: 'object' }],
    [readList, { type: 'array', items: {} }],
    [oneOf('a', 'b'), { enum: ['a', 'b'] }],
    [word('a', 'b'), { enum: ['a', 'b'] }],
    [wholeBetween(1, 3), { type: 'integer', minimum: 1, maximum: 3 }],
    [looseNumber, { type: 'number' }],
    [looseWhole, { type: 'integer' }],
    [looseFlag, { type: 'boolean' }],
    [looseTexts(3), { type: 'array', items: { type: 'string' } }],
    [listOf(readWhole), { type: 'array', items: { type: 'integer' } }],
    [listOf(anyValue), { type: 'array', items: {} }],
    [objectOf({ a: readText, b: anyValue }), { type: 'object', properties: { a: { type: 'string' }, b: {} } }],
    [optional(readText), { type: 'string' }],
    [optional(anyValue), {}],
    [orElse(readFlag, false), { type: 'boolean', default: false }],
    [orElse(readNumber, 0), { type: 'number', default: 0 }],
    [orElse(looseTexts(3), []), { type: 'array', items: { type: 'string' } }],
    [orElse(readText, ''), { type: 'string' }],
  ])('%#', (read, schema) => {
    expect(read.schema).toEqual(schema);
  });

  test('is undefined for readers made of readers without one', () => {
    expect(anyValue.schema).toBeUndefined();
    expect(orElse(anyValue as Read<number>, 5).schema).toEqual({ default: 5 });
  });

  test('described: does not change how values are read', () => {
    const named = described({ type: 'string' }, readName);
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const outcome = (read: Read<unknown>): unknown => {
          try {
            return read(value, 'a.b');
          } catch (error) {
            return (error as Error).message;
          }
        };
        expect(outcome(named)).toEqual(outcome(readName));
      }),
    );
  });
});

describe('tableSchema', () => {
  const table = {
    prompt: honoured(readText, 'what to go on with'),
    length: honoured(optional(readWhole)),
    stop: approximated(orElse(looseTexts(4), []), 'The first four.'),
    user: ignored(),
    thread: refused('The server keeps none.'),
    model: withSchema({ type: 'string' }, aside('approximated', 'Any name.')),
    options: group({ seed: honoured(readWhole), numa: ignored('Chosen at the start.') }),
    hidden: { read: readText },
    ...places({
      'prompt[]: pictures': { handling: 'refused', note: 'texts only' },
      '(others)': { handling: 'ignored' },
    }),
  };
  const schema = tableSchema(table) as {
    readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    readonly required: readonly string[];
    readonly description: string;
  };

  test('has every documented field and no other', () => {
    expect(Object.keys(schema.properties)).toEqual(['prompt', 'length', 'stop', 'user', 'thread', 'model', 'options']);
  });

  test('required: the fields whose reader refuses undefined', () => {
    // Without options there would be no seed.
    expect(schema.required).toEqual(['prompt', 'options']);
    expect(schema.properties.options?.required).toEqual(['seed']);
    expect(tableSchema({ a: honoured(optional(readText)) })).not.toHaveProperty('required');
  });

  test('has type, handling, and the note as a sentence', () => {
    expect(schema.properties.length).toEqual({ type: 'integer', 'x-parley-handling': 'honoured' });
    expect(schema.properties.stop).toMatchObject({
      type: 'array',
      description: 'Approximated. The first four.',
      'x-parley-handling': 'approximated',
    });
    expect(schema.properties.user).toEqual({ description: 'Ignored.', 'x-parley-handling': 'ignored' });
    expect(schema.properties.thread?.description).toBe('Refused. The server keeps none.');
    expect(schema.properties.model).toMatchObject({ type: 'string', description: 'Approximated. Any name.' });
    expect(schema.properties.options?.properties).toMatchObject({
      seed: { type: 'integer' },
      numa: { description: 'Ignored. Chosen at the start.' },
    });
  });

  test('has positions in the description of their field, others in that of the body', () => {
    expect(schema.properties.prompt?.description).toBe(
      'What to go on with.\n\n`prompt[]: pictures`: refused. Texts only.',
    );
    expect(schema.description).toBe('`(others)`: ignored.');
  });

  test('does not capitalize names of fields in notes', () => {
    const told = (note: string) =>
      tableSchema({ a: honoured(readText, note) }) as { properties: { a: { description: string } } };
    expect(told('include_usage; nothing else').properties.a.description).toBe('include_usage; nothing else.');
    expect(told('disabled: off').properties.a.description).toBe('disabled: off.');
    expect(told('a text').properties.a.description).toBe('A text.');
  });

  test('fidelityOf: has the schema, which is not serialized', () => {
    const fidelity = fidelityOf('Some API', 'POST /some', table);
    expect(fidelity.schema?.()).toEqual(schema);
    expect(JSON.parse(JSON.stringify(fidelity))).not.toHaveProperty('schema');
  });
});
