import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import {
  anyValue,
  clamp,
  isTokenId,
  listOf,
  objectOf,
  oneOf,
  optional,
  orElse,
  pathTo,
  type Read,
  readAt,
  readCount,
  reader,
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

const path = 'messages[3].content[0].text';

describe('readers return values of their type', () => {
  test.each<[string, Read<unknown>, unknown]>([
    ['a text', readText, ''],
    ['a name', readName, 'a'],
    ['a switch', readFlag, false],
    ['a number', readNumber, -0.5],
    ['a whole number', readWhole, -3],
    ['a count', readCount, 0],
    ['an object', readObject, { a: 1 }],
    ['a list', readList, [1]],
    ['a word', oneOf('a', 'b'), 'b'],
    ['a quoted word', word('a', 'b'), 'a'],
    ['a number in a range', wholeBetween(1, 3), 3],
    ['anything', anyValue, { a: [1] }],
  ])('%s', (_, read, value) => {
    expect(read(value, path)).toBe(value);
  });
});

describe('readers refuse other values with their path', () => {
  test.each<[Read<unknown>, unknown, string]>([
    [readText, 5, 'a string'],
    [readText, null, 'a string'],
    [readName, '', 'a string that is not empty'],
    [readName, undefined, 'a string that is not empty'],
    [readName, 5, 'a string'],
    [readFlag, 'true', 'true or false'],
    [readFlag, 1, 'true or false'],
    [readNumber, '1', 'a number'],
    [readWhole, 1.5, 'a whole number'],
    [readWhole, '1', 'a number'],
    [readCount, -1, 'a whole number, 0 or more'],
    [readCount, 1.5, 'a whole number, 0 or more'],
    [readCount, '1', 'a whole number, 0 or more'],
    [readObject, [], 'an object'],
    [readObject, null, 'an object'],
    [readList, {}, 'an array'],
    [oneOf('a', 'b'), 'c', 'one of a, b'],
    [oneOf('a', 'b'), undefined, 'one of a, b'],
    [word('a', 'b'), 'c', '"a" or "b"'],
    [wholeBetween(1, 3), 0, 'a whole number from 1 to 3'],
    [wholeBetween(1, 3), 4, 'a whole number from 1 to 3'],
    [wholeBetween(1, 3), 1.5, 'a whole number from 1 to 3'],
    [wholeBetween(1, 3), '2', 'a whole number from 1 to 3'],
    [reader('a colour', (value) => value === 'red'), 'loud', 'a colour'],
  ])('%o of %o', (read, value, expected) => {
    expect(() => read(value, path)).toThrow(`${path} must be ${expected}.`);
  });
});

test('wrong: an invalid-field error', () => {
  const refusal = (): unknown => {
    try {
      return readText(5, path);
    } catch (error) {
      return error;
    }
  };
  expect(refusal()).toBeInstanceOf(AppError);
  expect(refusal()).toMatchObject({ code: 'invalid-field', details: { field: path, expected: 'a string' } });
});

describe('optional and orElse', () => {
  test.each([undefined, null])('%o counts as left out', (value) => {
    expect(optional(readText)(value, path)).toBeUndefined();
    expect(orElse(readText, 'x')(value, path)).toBe('x');
  });

  test('read a value that was sent', () => {
    expect(optional(readText)('', path)).toBe('');
    expect(orElse(readFlag, true)(false, path)).toBe(false);
    expect(orElse(readNumber, 5)(0, path)).toBe(0);
    expect(() => optional(readText)(5, path)).toThrow(path);
    expect(() => orElse(readText, 'x')(5, path)).toThrow(path);
  });

  test('orElse: its default also for NaN', () => {
    expect(orElse(() => Number.NaN, 5)('many', path)).toBe(5);
  });
});

test('listOf: names the entry in errors', () => {
  expect(listOf(readText)(['a', ''], 'stop_sequences')).toEqual(['a', '']);
  expect(() => listOf(readText)(['a', 5], 'stop_sequences')).toThrow('stop_sequences[1] must be a string.');
  expect(() => listOf(readText)('a', 'stop_sequences')).toThrow('stop_sequences must be an array.');
  expect(() => listOf(listOf(readText))([['a'], ['b', 5]], 'x')).toThrow('x[1][1] must be a string.');
});

describe('objectOf', () => {
  test('names the members in errors', () => {
    expect(pathTo('', 'stop')).toBe('stop');
    expect(pathTo('options', 'stop')).toBe('options.stop');
    expect(readAt({ a: 'x' }, 'a', path, readText)).toBe('x');
    expect(() => readAt({ a: 5 }, 'a', 'tools[0].function', readText)).toThrow('tools[0].function.a must be a string.');
    expect(() => readAt({ a: 5 }, 'a', '', readText)).toThrow(/^a must be a string\.$/);
  });

  const usage = objectOf({ include_usage: orElse(readFlag, false), count: optional(readWhole) });

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
  expect(isTokenId(value)).toBe(expected);
});

test('clamp: moves to the nearer end, and ignores an open end', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer(), fc.nat(), (value, min, width) => {
      const max = min + width;
      const moved = clamp(value, min, max);
      expect(moved).toBeGreaterThanOrEqual(min);
      expect(moved).toBeLessThanOrEqual(max);
      expect(clamp(moved, min, max)).toBe(moved);
      if (value >= min && value <= max) expect(moved).toBe(value);
      expect(clamp(value)).toBe(value);
    }),
  );
});

test('readers: no value of another type passes, for any JSON', () => {
  const types: readonly (readonly [Read<unknown>, (value: unknown) => boolean])[] = [
    [readText, (value) => typeof value === 'string'],
    [readName, (value) => typeof value === 'string' && value !== ''],
    [readFlag, (value) => typeof value === 'boolean'],
    [readNumber, (value) => typeof value === 'number'],
    [readWhole, Number.isInteger],
    [readList, Array.isArray],
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
