import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { listText, oneEach, shaped, total, truncatedHeader, vectorText } from './encode.ts';

const never = new AbortController().signal;
const entries = fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { maxLength: 20 });
const of = (...numbers: number[]): Float32Array => Float32Array.from(numbers);
const plain = (vectors: readonly Float32Array[]): number[][] => vectors.map((vector) => Array.from(vector));

describe('a vector as text', () => {
  test('holds exactly its numbers', () => {
    fc.assert(
      fc.property(entries, (numbers) => {
        const vector = Float32Array.from(numbers);
        expect(Float32Array.from(JSON.parse(vectorText(vector)))).toEqual(vector.map((entry) => entry + 0));
      }),
    );
  });

  test('as bytes is what clients make the same numbers of', () => {
    fc.assert(
      fc.property(entries, (numbers) => {
        const vector = Float32Array.from(numbers);
        const bytes = Buffer.from(JSON.parse(vectorText(vector, 'base64')), 'base64');
        expect(Array.from(numbers, (_, index) => bytes.readFloatLE(index * 4))).toEqual(Array.from(vector));
        expect(bytes.length).toBe(numbers.length * 4);
      }),
    );
  });

  test('of a part of a larger one is that part', () => {
    const part = of(9, 1, 2).subarray(1);
    expect(vectorText(part)).toBe('[1,2]');
    expect(Buffer.from(JSON.parse(vectorText(part, 'base64')), 'base64').readFloatLE(0)).toBe(1);
  });
});

describe('shapes', () => {
  test('have length 1 unless told otherwise', () => {
    expect(plain(shaped([of(3, 4)], {}))).toEqual([[Math.fround(0.6), Math.fround(0.8)]]);
    expect(plain(shaped([of(3, 4)], { norm: -1 }))).toEqual([[3, 4]]);
  });

  test('can be shorter, and have length 1 again', () => {
    expect(plain(shaped([of(2, 5, 5), of(-4, 1, 1)], { dimensions: 1 }))).toEqual([[1], [-1]]);
    expect(plain(shaped([of(3, 4)], { dimensions: 2, norm: -1 }))).toEqual([[3, 4]]);
  });

  test('cannot be longer than what there is', () => {
    expect(() => shaped([of(1, 2)], { dimensions: 3 })).toThrow('dimensions must be at most 2');
  });
});

describe('one vector for each', () => {
  const embedded = { tokens: [1], truncated: [] };

  test('is what pooled models have', () => {
    expect(oneEach({ ...embedded, vectors: [[of(1)], [of(2)]], pooling: 'cls' })).toEqual([of(1), of(2)]);
  });

  test('is not to be had where there is one for each token', () => {
    expect(() => oneEach({ ...embedded, vectors: [[of(1), of(2)]], pooling: 'none' })).toThrow('use POST /embedding');
  });
});

describe('a long list', () => {
  test('is that of JSON', async () => {
    const text = await listText([1, 2, 3], (entry, index) => JSON.stringify({ entry, index }), never);
    expect(JSON.parse(text)).toEqual([1, 2, 3].map((entry, index) => ({ entry, index })));
    expect(await listText([], String, never)).toBe('[]');
  });

  test('lets others in, and ends with whoever wants it', async () => {
    const gone = new AbortController();
    let written = 0;
    const work = listText(
      Array.from({ length: 1_000_000 }, (_, index) => index),
      (index) => {
        written += 1;
        return JSON.stringify({ index, text: 'some text that takes a moment' });
      },
      gone.signal,
    );
    setImmediate(() => gone.abort(new Error('left')));
    await expect(work).rejects.toThrow('left');
    expect(written).toBeLessThan(1_000_000);
  });
});

test('what was cut is named, and nothing where nothing was', () => {
  expect(truncatedHeader([0, 3], 'input')).toEqual({ 'x-parley-truncated': 'input[0], input[3]' });
  expect(truncatedHeader([], 'input')).toEqual({});
  const all = truncatedHeader(
    Array.from({ length: 2048 }, (_, index) => index),
    'input',
  );
  expect(all['x-parley-truncated']).toMatch(/, \d+ more$/);
});

test('tokens are added up', () => expect([total([]), total([1, 2, 3])]).toEqual([0, 6]));
