import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mostInputs, readInputs } from './input.ts';

const read = (value: unknown) => readInputs(value, 'input');
const texts = fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 8 });
const tokens = fc.array(fc.nat(100_000), { minLength: 1, maxLength: 8 });

describe('readInputs', () => {
  test('reads a text', () => expect(read('Hi')).toEqual(['Hi']));

  test('reads several texts', () => {
    fc.assert(
      fc.property(texts, (list) => {
        expect(read(list)).toEqual(list);
      }),
    );
  });

  test('reads token numbers as one input', () => {
    fc.assert(
      fc.property(tokens, (list) => {
        expect(read(list)).toEqual([list]);
      }),
    );
  });

  test('reads lists of token numbers, also beside texts', () => {
    fc.assert(
      fc.property(fc.array(tokens, { minLength: 1, maxLength: 4 }), texts, (lists, words) => {
        expect(read([...lists, ...words])).toEqual([...lists, ...words]);
      }),
    );
  });

  test('accepts 2048 inputs and refuses more', () => {
    const list = (length: number) => Array.from({ length }, () => 'x');
    expect(read(list(mostInputs))).toHaveLength(mostInputs);
    expect(() => read(list(mostInputs + 1))).toThrow('input must be an array of at most 2048 inputs.');
    // These are the tokens of one text.
    expect(read(Array.from({ length: 5000 }, () => 1))).toHaveLength(1);
  });
});

test.each<[unknown, string]>([
  [undefined, 'input must be a string, an array of strings'],
  [null, 'input must be a string'],
  [5, 'input must be a string'],
  [{}, 'input must be a string'],
  [true, 'input must be a string'],
  ['', 'input must be a text that is not empty'],
  [[], 'and not empty'],
  [['a', ''], 'input[1] must be a text that is not empty'],
  [['a', null], 'input must be a string, an array of strings'],
  [['a', 5], 'input must be a string, an array of strings'],
  [['a', []], 'input[1] must be made of token numbers'],
  [[[1], ['a']], 'input[1] must be made of token numbers'],
  [[-1], 'input must be made of token numbers'],
  [[1.5], 'input must be made of token numbers'],
  [[2 ** 31], 'input must be made of token numbers'],
])('refuses %j: %s', (value, reason) => expect(() => read(value)).toThrow(reason));
