import { describe, expect, test } from 'vitest';
import { applyRules, logProbability, pick, splitSegments, type TokenRoles } from './rules.ts';

/** Texts are 0 to 4, the end is 5, times are 10 and more. */
const roles: TokenRoles = {
  end: 5,
  timestamps: 10,
  noTimestamps: 9,
  suppressed: [3, 6, 7, 8],
  suppressedFirst: [0, 5],
};
const size = 110;

/** What may follow, all of them equally likely but one. */
function allowed(written: readonly number[], likely?: number): number[] {
  const logits = new Float32Array(size);
  if (likely !== undefined) logits[likely] = 100;
  applyRules(logits, written, roles);
  return [...logits.keys()].filter((token) => logits[token] !== Number.NEGATIVE_INFINITY);
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index);

describe('applyRules', () => {
  test('a window begins with a time of its first second', () => {
    expect(allowed([], 1)).toEqual(range(10, 61));
  });

  test('after the first time comes a text or the end', () => {
    expect(allowed([10])).toEqual([0, 1, 2, 4, 5]);
  });

  test('after a text comes anything but earlier times', () => {
    expect(allowed([20, 1], 1)).toEqual([0, 1, 2, 4, 5, ...range(21, size)]);
  });

  test('after a text and its time come the end, the same time or later ones', () => {
    expect(allowed([20, 1, 30], 5)).toEqual([5, ...range(30, size)]);
  });

  test('after two times comes a text or the end', () => {
    expect(allowed([20, 1, 30, 30])).toEqual([0, 1, 2, 4, 5]);
  });

  test('a time comes when all times together are likelier than each text', () => {
    expect(allowed([20, 1])).toEqual(range(21, size));
  });

  test('suppressed tokens never come', () => {
    for (const written of [[], [10], [10, 1], [10, 1, 20]]) {
      for (const token of [3, 6, 7, 8, 9]) expect(allowed(written, token)).not.toContain(token);
    }
  });
});

test('logProbability: of all tokens add up to one', () => {
  const logits = Float32Array.of(1, 2, Number.NEGATIVE_INFINITY, -5);
  const sum = [0, 1, 2, 3].reduce((all, token) => all + Math.exp(logProbability(logits, token)), 0);
  expect(sum).toBeCloseTo(1, 6);
  expect(logProbability(logits, 1) - logProbability(logits, 0)).toBeCloseTo(1, 6);
});

describe('pick', () => {
  const logits = Float32Array.of(Math.log(1), Math.log(3), Number.NEGATIVE_INFINITY, Math.log(4));

  test('takes the likeliest at temperature 0', () => {
    expect(pick(logits, 0, () => 0)).toBe(3);
  });

  test.each([
    [0, 0],
    [0.13, 1],
    [0.49, 1],
    [0.51, 3],
    [0.9999, 3],
  ])('at temperature 1, %d chooses token %i by probability', (random, token) => {
    expect(pick(logits, 1, () => random)).toBe(token);
  });
});

describe('splitSegments', () => {
  test('splits at pairs of times', () => {
    expect(splitSegments([10, 1, 2, 20, 20, 4, 35], 10, roles)).toEqual({
      segments: [
        { start: 0, end: 0.2, tokens: [1, 2] },
        { start: 0.2, end: 0.5, tokens: [4] },
      ],
      decodedSeconds: 10,
    });
  });

  test('a text without an end after another segment must be heard again', () => {
    const { segments, decodedSeconds } = splitSegments([10, 1, 60, 60, 2, 4], 29, roles);
    expect(segments.map(({ tokens }) => tokens)).toEqual([[1]]);
    expect(decodedSeconds).toBe(1);
  });

  test('a segment that was begun only must be heard again', () => {
    expect(splitSegments([10, 1, 60, 60], 29, roles).decodedSeconds).toBe(1);
  });

  test('a single text without an end lasts to the end of the sound', () => {
    expect(splitSegments([15, 1, 2], 3, roles)).toEqual({
      segments: [{ start: 0.1, end: 3, tokens: [1, 2] }],
      decodedSeconds: 3,
    });
  });

  test('times after the end of the sound are moved to it', () => {
    expect(splitSegments([10, 1, 105], 1.5, roles).segments[0]).toMatchObject({ start: 0, end: 1.5 });
  });

  test('nothing was said', () => {
    expect(splitSegments([], 3, roles)).toEqual({ segments: [], decodedSeconds: 3 });
  });
});
