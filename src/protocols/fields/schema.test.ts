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
  sentAs,
  tableSchema,
} from './table.ts';

describe('a reader tells what it wants', () => {
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

  test('and what is made of one that says nothing says nothing', () => {
    expect(anyValue.schema).toBeUndefined();
    expect(orElse(anyValue as Read<number>, 5).schema).toEqual({ default: 5 });
  });

  test('a description changes nothing of how it reads', () => {
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

describe('a table as a schema', () => {
  const table = {
    prompt: honoured(readText, 'what to go on with'),
    length: honoured(optional(readWhole)),
    stop: approximated(orElse(looseTexts(4), []), 'The first four.'),
    user: ignored(),
    thread: refused('The server keeps none.'),
    model: sentAs({ type: 'string' }, aside('approximated', 'Any name.')),
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

  test('has every field that the table says something of, and no other', () => {
    expect(Object.keys(schema.properties)).toEqual(['prompt', 'length', 'stop', 'user', 'thread', 'model', 'options']);
  });

  test('says what is needed, as the readers themselves decide', () => {
    // Without options there would be no seed.
    expect(schema.required).toEqual(['prompt', 'options']);
    expect(schema.properties.options?.required).toEqual(['seed']);
    expect(tableSchema({ a: honoured(optional(readText)) })).not.toHaveProperty('required');
  });

  test('tells type, what becomes of it, and the note as a sentence', () => {
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

  test('tells the places inside of a field with it, and those of none with the whole', () => {
    expect(schema.properties.prompt?.description).toBe(
      'What to go on with.\n\n`prompt[]: pictures`: refused. Texts only.',
    );
    expect(schema.description).toBe('`(others)`: ignored.');
  });

  test('names of fields in notes keep their letters', () => {
    const told = (note: string) =>
      tableSchema({ a: honoured(readText, note) }) as { properties: { a: { description: string } } };
    expect(told('include_usage; nothing else').properties.a.description).toBe('include_usage; nothing else.');
    expect(told('disabled: off').properties.a.description).toBe('disabled: off.');
    expect(told('a text').properties.a.description).toBe('A text.');
  });

  test('comes along with what is said about an endpoint, and is not part of what is served of it', () => {
    const fidelity = fidelityOf('Some API', 'POST /some', table);
    expect(fidelity.schema?.()).toEqual(schema);
    expect(JSON.parse(JSON.stringify(fidelity))).not.toHaveProperty('schema');
  });
});
