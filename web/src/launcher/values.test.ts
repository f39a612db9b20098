import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  changedCount,
  countText,
  factsText,
  isDefault,
  isSwitchList,
  nameOf,
  type Shape,
  shellLine,
  shownText,
  writtenValue,
} from './values.ts';

const list: Shape = { type: 'list', of: 'text', least: 1, default: null };
const number: Shape = { type: 'integer', default: 16384 };
const text: Shape = { type: 'text', default: '' };

describe('setting values', () => {
  test.each([
    [null, ''],
    [5, '5'],
    ['a', 'a'],
    [['a', 'b'], 'a\nb'],
    [[], ''],
    [{ a: 1 }, '{"a":1}'],
    [true, 'true'],
  ])('shownText: %j becomes %j', (value, shown) => {
    expect(shownText(value)).toBe(shown);
  });

  test.each<[Shape, string, unknown]>([
    [list, ' /a.gguf \n\n/b.gguf', ['/a.gguf', '/b.gguf']],
    [list, '  ', null],
    [number, '4096', '4096'],
    [number, '', 16384],
    [text, ' spaces stay ', ' spaces stay '],
  ])('writtenValue: of %j with text %j is %j', (shape, written, value) => {
    expect(writtenValue(shape, written)).toEqual(value);
  });

  test('writtenValue: reverses shownText', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ minLength: 1 }).filter((one) => one.trim() === one && !/[\n\r]/.test(one)),
          { minLength: 1 },
        ),
        (entries) => {
          expect(writtenValue(list, shownText(entries))).toEqual(entries);
        },
      ),
    );
  });
});

test('changedCount: counts changes, also empty lists', () => {
  const devices: Shape = { type: 'list', of: 'integer', least: 0, default: null };
  expect(isDefault(number, 16384)).toBe(true);
  expect(isDefault(number, '16384')).toBe(true);
  expect(isDefault(number, 8192)).toBe(false);
  expect(isDefault(devices, null)).toBe(true);
  expect(isDefault(devices, [])).toBe(false);
  expect(isSwitchList(devices)).toBe(true);
  expect(isSwitchList(list)).toBe(false);
  const shapes: Record<string, Shape> = { number, devices };
  expect(changedCount(['number', 'devices', 'unknown'], (key) => shapes[key], { number: 5, devices: null })).toBe(1);
});

test.each([
  [512, '512'],
  [27_400_000, '27 M'],
  [7_240_000_000, '7.2 B'],
])('countText: %i becomes %s', (count, shown) => {
  expect(countText(count)).toBe(shown);
});

test('shellLine: quotes words for a shell', () => {
  expect(shellLine(['--model', '/a b.gguf', '--port', '5002'])).toBe("--model '/a b.gguf' --port 5002");
  expect(shellLine(["it's", '$HOME', '{"a":1}'])).toBe(`'it'\\''s' '$HOME' '{"a":1}'`);
});

test('nameOf: returns the file name on any system', () => {
  expect(nameOf('/home/me/a.gguf')).toBe('a.gguf');
  expect(nameOf('C:\\models\\b.gguf')).toBe('b.gguf');
});

test('factsText: limits and default as sentences', () => {
  expect(factsText(['from 256 to 524288', 'default: 16384'])).toBe('From 256 to 524288. Default: 16384.');
  expect(factsText([])).toBe('');
});
