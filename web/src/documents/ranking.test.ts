import { describe, expect, test } from 'vitest';
import { bestWithin, cosineScores, fusedScores, keywordScores, wordsOf } from './ranking.ts';

function scored(question: string, passages: readonly string[]): number[] {
  const work = keywordScores(question, passages);
  for (;;) {
    const step = work.next();
    if (step.done) return [...step.value];
  }
}

test('wordsOf: lower case, plurals as singulars, pairs of characters without spaces', () => {
  expect(wordsOf('The Ships, 3 gas-lamps')).toEqual(['the', 'ship', '3', 'gas', 'lamp']);
  expect(wordsOf('灯台の町')).toEqual(['灯台', '台の', 'の町']);
  expect(wordsOf('灯')).toEqual(['灯']);
});

describe('keywordScores', () => {
  test('rare words count more than common ones', () => {
    const [common = 0, rare = 0, none] = scored('the marmalade', ['the the the ship', 'the marmalade', 'a boat']);
    expect(rare).toBeGreaterThan(common);
    expect(none).toBe(0);
  });

  test('a short passage counts more than a long one with the same word', () => {
    const [short = 0, long = 0] = scored('lighthouse', ['a lighthouse', `a lighthouse ${'and more '.repeat(50)}`, 'x']);
    expect(short).toBeGreaterThan(long);
  });

  test('nothing scores without a word in common', () => {
    expect(scored('zebra', ['a ship', 'a boat'])).toEqual([0, 0]);
    expect(scored('', ['a ship'])).toEqual([0]);
  });
});

test('cosineScores: by direction, not by length', () => {
  const vectors = Float32Array.from([2, 0, 0, 5, -1, 0]);
  expect([...cosineScores(Float32Array.from([3, 0]), vectors)]).toEqual([1, 0, -1]);
  expect([...cosineScores(new Float32Array(), vectors)]).toEqual([]);
});

test('fusedScores: a passage that is good in both rankings is best', () => {
  const fused = fusedScores([
    { scores: Float32Array.from([0.9, 0.8, 0.1]), weight: 1 },
    { scores: Float32Array.from([0, 3, 2]), weight: 1 },
  ]);
  expect([...fused.keys()].sort((a, b) => (fused[b] ?? 0) - (fused[a] ?? 0))).toEqual([1, 2, 0]);
});

test('bestWithin: best first, up to the budget, at least one', () => {
  const scores = Float32Array.from([1, 3, 2, 0]);
  expect(bestWithin(scores, [100, 100, 100, 100], 250)).toEqual([1, 2]);
  expect(bestWithin(scores, [100, 100, 100, 100], 1000)).toEqual([1, 2, 0]);
  expect(bestWithin(scores, [100, 900, 100, 100], 500)).toEqual([1]);
});
