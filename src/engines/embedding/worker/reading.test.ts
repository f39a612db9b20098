import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EmbeddingInput } from '../../../core/embedding.ts';
import { letters, spelled } from '../testing/letters.ts';
import { cutBefore, readInput } from './reading.ts';

const read = (input: EmbeddingInput, truncate: boolean, maxTokens = 8) =>
  readInput(input, 'input[3]', letters, { maxTokens, truncate });

describe('a text', () => {
  test('is read with what the model puts around it', async () => {
    const { tokens, truncated } = await read('abc', false);
    expect([spelled(tokens), truncated]).toEqual(['<abc>', false]);
  });

  test('that just fits is whole', async () => {
    expect(await read('abcdef', false)).toMatchObject({ tokens: { length: 8 }, truncated: false });
  });

  test('that is too long is refused by its name and length', async () => {
    await expect(read('abcdefg', false)).rejects.toMatchObject({
      code: 'input-too-long',
      details: { field: 'input[3]', tokens: 9, mostTokens: 8 },
    });
  });

  test('that is too long may be cut, and keeps its end mark', async () => {
    const { tokens, truncated } = await read('abcdefghij', true);
    expect([spelled(tokens), truncated]).toEqual(['<abcdef>', true]);
  });

  test('without any token is refused', async () => {
    const bare = { ...letters, tokenizeAside: async () => new Int32Array(0) };
    await expect(readInput('', 'input', bare, { maxTokens: 8, truncate: true })).rejects.toThrow(
      'input must be something that has at least one token',
    );
  });
});

describe('token numbers', () => {
  test('are taken as they are', async () => {
    expect(Array.from((await read([5, 6, 999], false)).tokens)).toEqual([5, 6, 999]);
  });

  test('are cut at the end alone', async () => {
    const { tokens, truncated } = await read([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], true);
    expect([Array.from(tokens), truncated]).toEqual([[1, 2, 3, 4, 5, 6, 7, 8], true]);
  });

  test.each([[[1000]], [[-1]], [[1.5]], [[1, Number.NaN]]])('%j are none of this model', async (tokens) => {
    await expect(read(tokens, true)).rejects.toThrow('input[3] must be made of token numbers of this model');
  });

  test('may not be none', async () => {
    await expect(read([], true)).rejects.toThrow('at least one token');
  });
});

test('what is cut has the right length, begins as before and ends as the model wants it', () => {
  const tokens = fc.array(fc.integer({ min: 10, max: 99 }), { minLength: 1, maxLength: 40 });
  const ending = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 });
  fc.assert(
    fc.property(tokens, ending, fc.integer({ min: 1, max: 39 }), (text, marks, most) => {
      fc.pre(text.length > most);
      const cut = Array.from(cutBefore(Int32Array.from(text), Int32Array.from(marks), most));
      expect(cut).toHaveLength(most);
      const kept = Math.max(0, most - marks.length);
      expect(cut.slice(0, kept)).toEqual(text.slice(0, kept));
      expect(cut.slice(kept)).toEqual(marks.slice(0, most - kept));
    }),
  );
});
