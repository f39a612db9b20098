import fc from 'fast-check';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import * as f from './fields.ts';

test.each<[unknown, number]>([
  [12, 12],
  [12.9, 12],
  [-12.9, -12],
  ['12', 12],
  [' -3 ', -3],
  ['true', 1],
  ['FALSE', 0],
  [true, 1],
  [false, 0],
  [null, 7],
  [undefined, 7],
  ['', 7],
  ['12.5', 7],
  ['many', 7],
  [Number.NaN, 7],
  [Number.POSITIVE_INFINITY, 7],
  [[], 7],
  [{}, 7],
  [1e300, 2 ** 31 - 1],
  ['-99999999999999999999', -(2 ** 31)],
])('looseWhole: %o with default 7 is %o', (value, expected) => {
  expect(f.orElse(f.looseWhole, 7)(value, 'x')).toBe(expected);
});

test.each<[unknown, number]>([
  [0.5, 0.5],
  ['0.5', 0.5],
  ['.5', 0.5],
  [' 1e-3 ', 0.001],
  [true, 1],
  [null, 7],
  [undefined, 7],
  ['', 7],
  ['0x10', 7],
  ['nan', 7],
  ['Infinity', 7],
  [Number.POSITIVE_INFINITY, 7],
  [[1], 7],
  [{}, 7],
])('looseNumber: %o with default 7 is %o', (value, expected) => {
  expect(f.orElse(f.looseNumber, 7)(value, 'x')).toBe(expected);
});

test.each<[unknown, boolean]>([
  [true, true],
  [false, false],
  [1, true],
  [0, false],
  ['True', true],
  ['false', false],
  ['', false],
  [null, true],
  [undefined, true],
])('looseFlag: %o with default true is %o', (value, expected) => {
  expect(f.orElse(f.looseFlag, true)(value, 'trim_stop')).toBe(expected);
});

test.each([['maybe'], [[]], [{}]])('looseFlag: refuses %o', (value) => {
  expect(() => f.looseFlag(value, 'trim_stop')).toThrow('trim_stop must be true or false.');
});

test('loose numbers: NaN for values that are not numbers', () => {
  for (const value of ['many', '', [], {}, Number.POSITIVE_INFINITY]) {
    expect(f.looseNumber(value, 'x')).toBeNaN();
    expect(f.looseWhole(value, 'x')).toBeNaN();
  }
});

test('looseWholeWithin: moves values into the range', () => {
  const seed = f.looseWholeWithin(-1, 2 ** 32 - 1);
  expect([-99, -1, 0, 2 ** 32 - 1, 1e20, '7'].map((value) => seed(value, 'seed'))).toEqual([
    -1,
    -1,
    0,
    2 ** 32 - 1,
    2 ** 32 - 1,
    7,
  ]);
  expect(seed('x', 'seed')).toBeNaN();
});

test('looseNumber: finite or the default for any JSON value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(Number.isFinite(f.orElse(f.looseNumber, 7)(value, 'x'))).toBe(true);
      const whole = f.orElse(f.looseWhole, 7)(value, 'x');
      expect(Number.isInteger(whole)).toBe(true);
      expect(Math.abs(whole)).toBeLessThanOrEqual(2 ** 31);
    }),
  );
});

test('loose numbers: a number and its digits are equal', () => {
  fc.assert(
    fc.property(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), (whole, number) => {
      expect(f.looseWhole(String(whole), 'x')).toBe(f.looseWhole(whole, 'x'));
      expect(f.looseNumber(String(number), 'x')).toBe(Number(String(number)));
    }),
  );
});

test('looseTexts: limits all texts together, and names their length', () => {
  const half = 'a'.repeat(25_000);
  expect(f.limitedTexts('stop', [half, half])).toEqual([half, half]);
  expect(() => f.limitedTexts('options.stop', [half, half, 'b'])).toThrow(
    'options.stop must be at most 50000 characters, all texts together; these are 50001.',
  );
  expect(() => f.looseTexts(9)([half, half, 'b'], 'stop')).toThrow('stop must be at most 50000 characters');
  expect(f.looseTexts(2)([half, half, 'b'], 'stop')).toEqual([half, half]);
});

test.each<[unknown, string[]]>([
  [
    ['a', '', 'b', 'c', 'd'],
    ['a', 'b'],
  ],
  ['["a", "b"]', ['a', 'b']],
  ['just one', ['just one']],
  ['[not json', ['[not json']],
  ['', []],
  [null, []],
])('looseTexts: %o with at most three is %o', (value, expected) => {
  expect(f.orElse(f.looseTexts(3), [])(value, 'banned_tokens')).toEqual(expected);
});

test.each([[5], [{}], [['a', 1]], ['[1]']])('looseTexts: refuses %o', (value) => {
  expect(() => f.looseTexts(3)(value, 'banned_tokens')).toThrow('an array of strings');
});

const kinds = {
  text: { handling: 'honoured', read: () => 'text' },
  image: { handling: 'approximated', read: () => 'image', note: 'Small ones.' },
} as const;

const table = {
  prompt: f.honoured(f.readText, 'A text.'),
  ...f.kindsAt('prompt[]', kinds),
  ...f.positions({ 'prompt[]: other kinds': { handling: 'refused', note: 'Unknown.' } }),
  stream: f.honoured(f.orElse(f.readFlag, false)),
  effort: f.approximated(f.optionalText, 'Roughly.'),
  user: f.ignored(),
  seed: f.ignored('For later.', f.readWhole),
  model: f.aside('approximated', 'Chosen before.'),
  thread: f.refused('Nothing is kept.', (_, path) => {
    throw f.wrong(path, 'left out');
  }),
  options: f.group({
    num_ctx: f.honoured(f.orElse(f.looseWhole, 7), 'At most what there is.'),
    numa: f.ignored('At the start.'),
  }),
  ...f.each(['a', 'b'], f.honoured(f.optionalText, 'Twins.')),
};

describe('readFields', () => {
  test('returns the fields that have a reader', () => {
    const body = { prompt: 'Hi', user: 'me', model: 'x', unknown: 1, a: 'A', options: { num_ctx: '9', other: 1 } };
    expect(f.readFields(table, body)).toEqual({
      prompt: 'Hi',
      stream: false,
      effort: undefined,
      options: { num_ctx: 9 },
      a: 'A',
      b: undefined,
    });
  });

  test('has the types of the readers', () => {
    type Read = f.Fields<typeof table>;
    expectTypeOf<keyof Read>().toEqualTypeOf<'prompt' | 'stream' | 'effort' | 'options' | 'a' | 'b'>();
    expectTypeOf<Read['prompt']>().toEqualTypeOf<string>();
    expectTypeOf<Read['stream']>().toEqualTypeOf<boolean>();
    expectTypeOf<Read['effort']>().toEqualTypeOf<string | undefined>();
    expectTypeOf<Read['options']>().toEqualTypeOf<{ readonly num_ctx: number }>();
  });

  test('checks only values that are sent and not null', () => {
    expect(() => f.readFields(table, { prompt: 'Hi', seed: null, thread: null })).not.toThrow();
  });

  test('group: left out, it counts as empty', () => {
    for (const options of [undefined, null, {}]) {
      expect(f.readFields(table, { prompt: '', options }).options).toEqual({ num_ctx: 7 });
    }
  });

  test.each<[object, string]>([
    [{}, 'prompt must be a string.'],
    [{ prompt: 'Hi', stream: 1 }, 'stream must be true or false.'],
    [{ prompt: 'Hi', options: [] }, 'options must be an object.'],
    [{ prompt: 'Hi', seed: 'x' }, 'seed must be a number.'],
    [{ prompt: 'Hi', thread: 'x' }, 'thread must be left out.'],
  ])('refuses %o with the name of the field', (body, sentence) => {
    expect(() => f.readFields(table, { ...body })).toThrow(sentence);
  });

  test('names the whole path of a field inside of another', () => {
    const inner = { a: f.honoured(f.readText), deep: f.group({ b: f.honoured(f.readText) }) };
    const deepest = { a: 'x', deep: { b: 5 } };
    expect(() => f.readFields(inner, deepest, 'tools[2]')).toThrow('tools[2].deep.b must be a string.');
    expect(() => f.readFields({ outer: f.group(inner) }, { outer: deepest })).toThrow('outer.deep.b must be a string.');
  });

  test('ignores inherited properties of a body', () => {
    const inherited = f.readFields({ toString: f.honoured((value) => typeof value) }, JSON.parse('{}'));
    expect(inherited).toEqual({ toString: 'undefined' });
  });
});

describe('fidelityOf', () => {
  test('lists fields in order, with positions and members by path', () => {
    expect(f.fidelityOf(table)).toEqual([
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
    ]);
  });

  test('finds ignored fields at any depth', () => {
    const body = { prompt: 'Hi', user: 'me', options: { numa: true, num_ctx: 5 } };
    expect(f.ignoredIn(table, body)).toEqual(['user', 'options.numa']);
    expect(f.ignoredIn(table, { prompt: 'Hi', user: null, options: null })).toEqual([]);
  });
});

const path = 'messages[3].content[0].text';

describe('readers return values of their type', () => {
  test.each<[string, f.Read<unknown>, unknown]>([
    ['a text', f.readText, ''],
    ['a name', f.readName, 'a'],
    ['a switch', f.readFlag, false],
    ['a number', f.readNumber, -0.5],
    ['a whole number', f.readWhole, -3],
    ['a count', f.readCount, 0],
    ['an object', f.readObject, { a: 1 }],
    ['a list', f.readList, [1]],
    ['a word', f.oneOf('a', 'b'), 'b'],
    ['a quoted word', f.word('a', 'b'), 'a'],
    ['a number in a range', f.wholeBetween(1, 3), 3],
    ['anything', f.anyValue, { a: [1] }],
  ])('%s', (_, read, value) => {
    expect(read(value, path)).toBe(value);
  });
});

describe('readers refuse other values with their path', () => {
  test.each<[f.Read<unknown>, unknown, string]>([
    [f.readText, 5, 'a string'],
    [f.readText, null, 'a string'],
    [f.readName, '', 'a string that is not empty'],
    [f.readName, undefined, 'a string that is not empty'],
    [f.readName, 5, 'a string'],
    [f.readFlag, 'true', 'true or false'],
    [f.readFlag, 1, 'true or false'],
    [f.readNumber, '1', 'a number'],
    [f.readWhole, 1.5, 'a whole number'],
    [f.readWhole, '1', 'a number'],
    [f.readCount, -1, 'a whole number, 0 or more'],
    [f.readCount, 1.5, 'a whole number, 0 or more'],
    [f.readCount, '1', 'a whole number, 0 or more'],
    [f.readObject, [], 'an object'],
    [f.readObject, null, 'an object'],
    [f.readList, {}, 'an array'],
    [f.oneOf('a', 'b'), 'c', 'one of a, b'],
    [f.oneOf('a', 'b'), undefined, 'one of a, b'],
    [f.word('a', 'b'), 'c', '"a" or "b"'],
    [f.wholeBetween(1, 3), 0, 'a whole number from 1 to 3'],
    [f.wholeBetween(1, 3), 4, 'a whole number from 1 to 3'],
    [f.wholeBetween(1, 3), 1.5, 'a whole number from 1 to 3'],
    [f.wholeBetween(1, 3), '2', 'a whole number from 1 to 3'],
    [f.reader('a colour', (value) => value === 'red'), 'loud', 'a colour'],
  ])('%o of %o', (read, value, expected) => {
    expect(() => read(value, path)).toThrow(`${path} must be ${expected}.`);
  });
});

test('wrong: an invalid-field error', () => {
  const refusal = (): unknown => {
    try {
      return f.readText(5, path);
    } catch (error) {
      return error;
    }
  };
  expect(refusal()).toBeInstanceOf(AppError);
  expect(refusal()).toMatchObject({ code: 'invalid-field', details: { field: path, expected: 'a string' } });
});

describe('optional and orElse', () => {
  test.each([undefined, null])('%o counts as left out', (value) => {
    expect(f.optional(f.readText)(value, path)).toBeUndefined();
    expect(f.orElse(f.readText, 'x')(value, path)).toBe('x');
  });

  test('read a value that was sent', () => {
    expect(f.optional(f.readText)('', path)).toBe('');
    expect(f.orElse(f.readFlag, true)(false, path)).toBe(false);
    expect(f.orElse(f.readNumber, 5)(0, path)).toBe(0);
    expect(() => f.optional(f.readText)(5, path)).toThrow(path);
    expect(() => f.orElse(f.readText, 'x')(5, path)).toThrow(path);
  });

  test('orElse: its default also for NaN', () => {
    expect(f.orElse(() => Number.NaN, 5)('many', path)).toBe(5);
  });
});

test('listOf: names the entry in errors', () => {
  expect(f.listOf(f.readText)(['a', ''], 'stop_sequences')).toEqual(['a', '']);
  expect(() => f.listOf(f.readText)(['a', 5], 'stop_sequences')).toThrow('stop_sequences[1] must be a string.');
  expect(() => f.listOf(f.readText)('a', 'stop_sequences')).toThrow('stop_sequences must be an array.');
  expect(() => f.listOf(f.listOf(f.readText))([['a'], ['b', 5]], 'x')).toThrow('x[1][1] must be a string.');
});

describe('objectOf', () => {
  test('names the members in errors', () => {
    expect(f.pathTo('', 'stop')).toBe('stop');
    expect(f.pathTo('options', 'stop')).toBe('options.stop');
    expect(f.readAt({ a: 'x' }, 'a', path, f.readText)).toBe('x');
    expect(() => f.readAt({ a: 5 }, 'a', 'tools[0].function', f.readText)).toThrow(
      'tools[0].function.a must be a string.',
    );
    expect(() => f.readAt({ a: 5 }, 'a', '', f.readText)).toThrow(/^a must be a string\.$/);
  });

  const usage = f.objectOf({ include_usage: f.orElse(f.readFlag, false), count: f.optional(f.readWhole) });

  test.each([
    [undefined, { include_usage: false, count: undefined }],
    [null, { include_usage: false, count: undefined }],
    [{}, { include_usage: false, count: undefined }],
    [
      { include_usage: true, count: 3, other: 1 },
      { include_usage: true, count: 3 },
    ],
  ])('reads %o as %o', (value, expected) => {
    expect(usage(value, 'stream_options')).toEqual(expected);
  });

  test('refuses members by their path, and the object by its own', () => {
    expect(() => usage(5, 'stream_options')).toThrow('stream_options must be an object.');
    expect(() => usage({ include_usage: 'yes' }, 'stream_options')).toThrow(
      'stream_options.include_usage must be true or false.',
    );
  });
});

test.each([
  [0, true],
  [2 ** 31 - 1, true],
  [2 ** 31, false],
  [-1, false],
  [1.5, false],
  ['1', false],
  [null, false],
])('isTokenId: %o: %o', (value, expected) => {
  expect(f.isTokenId(value)).toBe(expected);
});

test('clamp: moves to the nearer end, and ignores an open end', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer(), fc.nat(), (value, min, width) => {
      const max = min + width;
      const moved = f.clamp(value, min, max);
      expect(moved).toBeGreaterThanOrEqual(min);
      expect(moved).toBeLessThanOrEqual(max);
      expect(f.clamp(moved, min, max)).toBe(moved);
      if (value >= min && value <= max) expect(moved).toBe(value);
      expect(f.clamp(value)).toBe(value);
    }),
  );
});

test('readers: no value of another type passes, for any JSON', () => {
  const types: readonly (readonly [f.Read<unknown>, (value: unknown) => boolean])[] = [
    [f.readText, (value) => typeof value === 'string'],
    [f.readName, (value) => typeof value === 'string' && value !== ''],
    [f.readFlag, (value) => typeof value === 'boolean'],
    [f.readNumber, (value) => typeof value === 'number'],
    [f.readWhole, Number.isInteger],
    [f.readList, Array.isArray],
  ];
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      for (const [read, is] of types) {
        if (is(value)) expect(read(value, path)).toBe(value);
        else expect(() => read(value, path)).toThrow(path);
      }
    }),
  );
});
