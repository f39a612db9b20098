import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as f from './fields.ts';

describe('schema of a reader', () => {
  test.each<[f.Read<unknown>, object]>([
    [f.readText, { type: 'string' }],
    [f.readName, { type: 'string', minLength: 1 }],
    [f.readFlag, { type: 'boolean' }],
    [f.readNumber, { type: 'number' }],
    [f.readWhole, { type: 'integer' }],
    [f.readCount, { type: 'integer', minimum: 0 }],
    [f.readObject, { type: 'object' }],
    [f.readList, { type: 'array', items: {} }],
    [f.oneOf('a', 'b'), { enum: ['a', 'b'] }],
    [f.word('a', 'b'), { enum: ['a', 'b'] }],
    [f.wholeBetween(1, 3), { type: 'integer', minimum: 1, maximum: 3 }],
    [f.looseNumber, { type: 'number' }],
    [f.looseWhole, { type: 'integer' }],
    [f.looseFlag, { type: 'boolean' }],
    [f.looseTexts(3), { type: 'array', items: { type: 'string' } }],
    [f.listOf(f.readWhole), { type: 'array', items: { type: 'integer' } }],
    [f.listOf(f.anyValue), { type: 'array', items: {} }],
    [f.objectOf({ a: f.readText, b: f.anyValue }), { type: 'object', properties: { a: { type: 'string' }, b: {} } }],
    [f.optional(f.readText), { type: 'string' }],
    [f.optional(f.anyValue), {}],
    [f.orElse(f.readFlag, false), { type: 'boolean', default: false }],
    [f.orElse(f.readNumber, 0), { type: 'number', default: 0 }],
    [f.orElse(f.looseTexts(3), []), { type: 'array', items: { type: 'string' } }],
    [f.orElse(f.readText, ''), { type: 'string' }],
  ])('%#', (read, schema) => {
    expect(read.schema).toEqual(schema);
  });

  test('is undefined for readers made of readers without one', () => {
    expect(f.anyValue.schema).toBeUndefined();
    expect(f.orElse(f.anyValue as f.Read<number>, 5).schema).toEqual({ default: 5 });
  });

  test('described: does not change how values are read', () => {
    const named = f.described({ type: 'string' }, f.readName);
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const outcome = (read: f.Read<unknown>): unknown => {
          try {
            return read(value, 'a.b');
          } catch (error) {
            return (error as Error).message;
          }
        };
        expect(outcome(named)).toEqual(outcome(f.readName));
      }),
    );
  });
});

describe('tableSchema', () => {
  const table = {
    prompt: f.honoured(f.readText, 'what to go on with'),
    length: f.honoured(f.optional(f.readWhole)),
    stop: f.approximated(f.orElse(f.looseTexts(4), []), 'The first four.'),
    user: f.ignored(),
    thread: f.refused('The server keeps none.'),
    model: f.withSchema({ type: 'string' }, f.aside('approximated', 'Any name.')),
    options: f.group({ seed: f.honoured(f.readWhole), numa: f.ignored('Chosen at the start.') }),
    hidden: { read: f.readText },
    ...f.positions({
      'prompt[]: pictures': { handling: 'refused', note: 'texts only' },
      '(others)': { handling: 'ignored' },
    }),
  };
  const schema = f.tableSchema(table) as {
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
    expect(f.tableSchema({ a: f.honoured(f.optional(f.readText)) })).not.toHaveProperty('required');
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
    const schemaWith = (note: string) =>
      f.tableSchema({ a: f.honoured(f.readText, note) }) as { properties: { a: { description: string } } };
    expect(schemaWith('include_usage; nothing else').properties.a.description).toBe('include_usage; nothing else.');
    expect(schemaWith('disabled: off').properties.a.description).toBe('disabled: off.');
    expect(schemaWith('a text').properties.a.description).toBe('A text.');
  });
});
