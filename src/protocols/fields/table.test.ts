import { describe, expect, expectTypeOf, test } from 'vitest';
import { ignoredFields } from '../../core/fidelity.ts';
import { looseWhole } from './loose.ts';
import { optionalText, orElse, readFlag, readText, readWhole, wrong } from './readers.ts';
import {
  approximated,
  aside,
  each,
  type Fields,
  fidelityOf,
  group,
  honoured,
  ignored,
  kindsAt,
  places,
  readFields,
  refused,
} from './table.ts';

const kinds = {
  text: { handling: 'honoured', read: () => 'text' },
  image: { handling: 'approximated', read: () => 'image', note: 'Small ones.' },
} as const;

const table = {
  prompt: honoured(readText, 'A text.'),
  ...kindsAt('prompt[]', kinds),
  ...places({ 'prompt[]: other kinds': { handling: 'refused', note: 'Unknown.' } }),
  stream: honoured(orElse(readFlag, false)),
  effort: approximated(optionalText, 'Roughly.'),
  user: ignored(),
  seed: ignored('For later.', readWhole),
  model: aside('approximated', 'Chosen before.'),
  thread: refused('Nothing is kept.', (_, path) => {
    throw wrong(path, 'left out');
  }),
  options: group({
    num_ctx: honoured(orElse(looseWhole, 7), 'At most what there is.'),
    numa: ignored('At the start.'),
  }),
  ...each(['a', 'b'], honoured(optionalText, 'Twins.')),
};

describe('readFields', () => {
  test('returns the fields that have a reader', () => {
    const body = { prompt: 'Hi', user: 'me', model: 'x', unknown: 1, a: 'A', options: { num_ctx: '9', other: 1 } };
    expect(readFields(table, body)).toEqual({
      prompt: 'Hi',
      stream: false,
      effort: undefined,
      options: { num_ctx: 9 },
      a: 'A',
      b: undefined,
    });
  });

  test('has the types of the readers', () => {
    type Read = Fields<typeof table>;
    expectTypeOf<keyof Read>().toEqualTypeOf<'prompt' | 'stream' | 'effort' | 'options' | 'a' | 'b'>();
    expectTypeOf<Read['prompt']>().toEqualTypeOf<string>();
    expectTypeOf<Read['stream']>().toEqualTypeOf<boolean>();
    expectTypeOf<Read['effort']>().toEqualTypeOf<string | undefined>();
    expectTypeOf<Read['options']>().toEqualTypeOf<{ readonly num_ctx: number }>();
  });

  test('checks only values that are sent and not null', () => {
    expect(() => readFields(table, { prompt: 'Hi', seed: null, thread: null })).not.toThrow();
  });

  test('group: left out, it counts as empty', () => {
    for (const options of [undefined, null, {}]) {
      expect(readFields(table, { prompt: '', options }).options).toEqual({ num_ctx: 7 });
    }
  });

  test.each<[object, string]>([
    [{}, 'prompt must be a string.'],
    [{ prompt: 'Hi', stream: 1 }, 'stream must be true or false.'],
    [{ prompt: 'Hi', options: [] }, 'options must be an object.'],
    [{ prompt: 'Hi', seed: 'x' }, 'seed must be a number.'],
    [{ prompt: 'Hi', thread: 'x' }, 'thread must be left out.'],
  ])('refuses %o with the name of the field', (body, sentence) => {
    expect(() => readFields(table, { ...body })).toThrow(sentence);
  });

  test('names the whole path of a field inside of another', () => {
    const inner = { a: honoured(readText), deep: group({ b: honoured(readText) }) };
    const deepest = { a: 'x', deep: { b: 5 } };
    expect(() => readFields(inner, deepest, 'tools[2]')).toThrow('tools[2].deep.b must be a string.');
    expect(() => readFields({ outer: group(inner) }, { outer: deepest })).toThrow('outer.deep.b must be a string.');
  });

  test('ignores inherited properties of a body', () => {
    const inherited = readFields({ toString: honoured((value) => typeof value) }, JSON.parse('{}'));
    expect(inherited).toEqual({ toString: 'undefined' });
  });
});

describe('fidelityOf', () => {
  const fidelity = fidelityOf('Some API', 'POST /some', table);

  test('lists fields in order, with positions and members by path', () => {
    expect(fidelity).toMatchObject({
      dialect: 'Some API',
      endpoint: 'POST /some',
      fields: [
        { field: 'prompt', handling: 'honoured', note: 'A text.' },
        { field: 'prompt[]: text', handling: 'honoured' },
        { field: 'prompt[]: image', handling: 'approximated', note: 'Small ones.' },
        { field: 'prompt[]: other kinds', handling: 'refused', note: 'Unknown.' },
        { field: 'stream', handling: 'honoured' },
        { field: 'effort', handling: 'approximated', note: 'Roughly.' },
        { field: 'user', handling: 'ignored' },
        { field: 'seed', handling: 'ignored', note: 'For later.' },
        { field: 'model', handling: 'approximated', note: 'Chosen before.' },
        { field: 'thread', handling: 'refused', note: 'Nothing is kept.' },
        { field: 'options.num_ctx', handling: 'honoured', note: 'At most what there is.' },
        { field: 'options.numa', handling: 'ignored', note: 'At the start.' },
        { field: 'a', handling: 'honoured', note: 'Twins.' },
        { field: 'b', handling: 'honoured', note: 'Twins.' },
      ],
    });
  });

  test('finds ignored fields at any depth', () => {
    const body = { prompt: 'Hi', user: 'me', options: { numa: true, num_ctx: 5 } };
    expect(ignoredFields(body, fidelity)).toEqual(['user', 'options.numa']);
    expect(ignoredFields({ prompt: 'Hi', user: null, options: null }, fidelity)).toEqual([]);
  });
});
