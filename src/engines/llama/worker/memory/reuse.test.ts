import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { longestContinuation, planReuse } from './snapshot.ts';

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);
const ask = (cached: number[], prompt: number[], { contextSize = 2048, canShift = true } = {}) =>
  planReuse(Int32Array.from(cached), { tokens: Int32Array.from(prompt), maxTokens: 100 }, contextSize, canShift);

describe('planReuse: common prefix', () => {
  test('is reused', () => expect(ask(range(0, 50), [...range(0, 30), 7, 8])).toEqual({ shift: undefined, keep: 30 }));
  test('leaves the last token to compute', () => expect(ask(range(0, 50), range(0, 50)).keep).toBe(49));
  test('of three tokens is not reused', () => expect(ask([1, 2, 3, 4, 5], [1, 2, 3, 9, 9, 9]).keep).toBe(0));
});

describe('planReuse: a chat without its oldest turns', () => {
  const cached = range(0, 1900);
  const prompt = [...range(0, 20), ...range(300, 1900), ...range(5000, 5040)];
  test('is shifted: removes the dropped turns and keeps the rest', () =>
    expect(ask(cached, prompt)).toEqual({ shift: { from: 20, count: 280 }, keep: 1620 }));
  test('is computed again without shifting', () =>
    expect(ask(cached, prompt, { canShift: false })).toEqual({ shift: undefined, keep: 20 }));
  test('is not shifted for a short match', () =>
    expect(ask(cached, [...range(0, 20), ...range(300, 400), ...range(5000, 5600)]).shift).toBeUndefined());
});

test('planReuse: reused tokens equal the prompt after the shift', () => {
  const tokens = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 600 });
  fc.assert(
    fc.property(tokens, tokens, fc.integer({ min: 0, max: 500 }), (head, tail, cut) => {
      const cached = [...head, ...tail];
      const prompt = [...head.slice(0, 10), ...cached.slice(cut), 9];
      const { shift, keep } = ask(cached, prompt, { contextSize: 256 });
      if (shift) cached.splice(shift.from, shift.count);
      expect(cached.slice(0, keep)).toEqual(prompt.slice(0, keep));
      expect(keep).toBeLessThan(prompt.length);
    }),
  );
});

test('longestContinuation: the longest over all positions', () => {
  const tokens = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 40 });
  fc.assert(
    fc.property(tokens, tokens, (old, next) => {
      const lengthAt = (start: number) => {
        let length = 0;
        while (start + length < old.length && length < next.length && old[start + length] === next[length]) length += 1;
        return length;
      };
      const naive = Math.max(0, ...old.map((_, start) => lengthAt(start)));
      expect(longestContinuation(Int32Array.from(old), Int32Array.from(next)).length).toBe(naive);
    }),
  );
});
