import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainLogprobs, sumOfExponentials } from './logprobs.ts';

/** The definition, as slow and plain as it is. */
function naive(logits: readonly number[], token: number) {
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
  const logprob = (index: number) => Math.log(Math.exp(logits[index] as number) / total);
  const order = [...logits.keys()].sort((a, b) => (logits[b] as number) - (logits[a] as number) || a - b);
  const likelier = logits.filter((logit) => logit > (logits[token] as number)).length;
  return { logprob: logprob(token), rank: likelier + 1, order, at: logprob };
}

const rows = fc.array(fc.float({ min: -20, max: 20, noNaN: true }), { minLength: 1, maxLength: 60 });

test('plainLogprobs: same as the plain distribution', () => {
  fc.assert(
    fc.property(rows, fc.nat(), fc.nat(25), (logits, pick, count) => {
      const token = pick % logits.length;
      const expected = naive([...Float32Array.from(logits)], token);
      const found = plainLogprobs(Float32Array.from(logits), token, count);
      expect(found.logprob).toBeCloseTo(expected.logprob, 9);
      expect(found.rank).toBe(expected.rank);
      expect(found.top.map((one) => one.token)).toEqual(expected.order.slice(0, count));
      for (const { token: id, logprob } of found.top) expect(logprob).toBeCloseTo(expected.at(id), 9);
    }),
  );
});

test('plainLogprobs: probabilities of all tokens sum to 1', () => {
  fc.assert(
    fc.property(rows, (logits) => {
      const { top } = plainLogprobs(Float32Array.from(logits), 0, logits.length);
      expect(top.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0)).toBeCloseTo(1, 6);
    }),
  );
});

test('plainLogprobs: no overflow with large logits', () => {
  const { logprob, top } = plainLogprobs(Float32Array.of(5000, 4999, -5000), 1, 2);
  expect(logprob).toBeCloseTo(Math.log(Math.exp(-1) / (1 + Math.exp(-1))), 9);
  expect(top.map(({ token }) => token)).toEqual([0, 1]);
});

test('plainLogprobs: minus infinity and the last rank for an impossible token', () => {
  const impossible = Number.NEGATIVE_INFINITY;
  expect(plainLogprobs(Float32Array.of(1, impossible, 2), 1, 3)).toMatchObject({ logprob: impossible, rank: 3 });
});

test('plainLogprobs: no top list with count 0', () => {
  expect(plainLogprobs(Float32Array.of(0, 0), 1, 0)).toEqual({ logprob: Math.log(0.5), rank: 1, top: [] });
});

test('plainLogprobs: equal tokens by ascending id', () => {
  const { top } = plainLogprobs(Float32Array.of(1, 3, 3, 3, 2), 0, 2);
  expect(top.map(({ token }) => token)).toEqual([1, 2]);
});

test('plainLogprobs: does not change the row', () => {
  const logits = Float32Array.of(3, 1, 2);
  plainLogprobs(logits, 0, 3);
  expect([...logits]).toEqual([3, 1, 2]);
});

const slow = (row: Float32Array, highest: number) => row.reduce((sum, one) => sum + Math.exp(one - highest), 0);

test('sumOfExponentials: exact to ten digits', () => {
  const numbers = fc.array(fc.float({ min: -60, max: 60, noNaN: true }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(numbers, (list) => {
      const row = Float32Array.from(list);
      const highest = Math.max(...row);
      const expected = slow(row, highest);
      expect(Math.abs(sumOfExponentials(row, highest) - expected) / expected).toBeLessThan(1e-10);
    }),
    { numRuns: 500 },
  );
});

test.each([
  ['the largest alone', [5], 1],
  ['equal ones', [3, 3, 3, 3], 4],
  ['one that cannot come', [0, Number.NEGATIVE_INFINITY], 1],
  ['one far below', [0, -5000], 1],
  ['one that is no number', [0, Number.NaN], 1],
  ['nothing', [], 0],
])('sumOfExponentials: %s', (_, list, expected) => {
  const row = Float32Array.from(list);
  expect(sumOfExponentials(row, Math.max(...list.filter((one) => !Number.isNaN(one)), -1e9))).toBeCloseTo(expected, 12);
});

test('sumOfExponentials: includes many small terms', () => {
  const row = new Float32Array(100_000).fill(-20);
  row[0] = 0;
  expect(sumOfExponentials(row, 0)).toBeCloseTo(slow(row, 0), 12);
});
