import { expect, test } from 'vitest';
import { during } from './fair.ts';

const seen = { askedAt: 0, endedAt: 100, promptTokens: 1, cachedTokens: 0, tokens: 1, arrivals: [1, 4, 6, 20, 30, 31] };

test('what counts begins with the last token before the long prompt and ends with the first behind its answer', () => {
  expect(during(seen, { ...seen, askedAt: 5, arrivals: [25] })).toEqual([4, 6, 20, 30]);
});

test('a stream that ended before the answer counts as far as it went', () => {
  expect(during(seen, { ...seen, askedAt: 5, arrivals: [99] })).toEqual([4, 6, 20, 30, 31]);
});
