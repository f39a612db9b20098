import { expect, test } from 'vitest';
import { finishText, statisticsLine } from './figures.ts';

test('statisticsLine: formats tokens, speed and latency', () => {
  expect(statisticsLine({ tokens: 98, promptTokens: 20, perSecond: 104.2, firstTokenMs: 240 })).toBe(
    '98 tokens · 104 tokens/s · first token after 0.2 s',
  );
  expect(statisticsLine({ tokens: 1, promptTokens: 20, perSecond: 3.21, firstTokenMs: 12_345 })).toBe(
    '1 token · 3.2 tokens/s · first token after 12.3 s',
  );
  expect(statisticsLine({ tokens: 12, promptTokens: 20, perSecond: 30, firstTokenMs: 0 })).toBe(
    '12 tokens · 30 tokens/s',
  );
});

test.each([
  ['length', /Press Continue/],
  ['stopped', /^Stopped\.$/],
  ['abort', /^Stopped\.$/],
  ['stop', /^$/],
  ['interrupted', /^Interrupted\.$/],
  [undefined, /^$/],
])('finishText: %j becomes %s', (finish, words) => {
  expect(finishText(finish, true)).toMatch(words);
});

test('finishText: in the middle of a chat only an interruption is shown', () => {
  expect(['length', 'stopped', 'interrupted'].map((finish) => finishText(finish, false))).toEqual([
    '',
    '',
    'Interrupted.',
  ]);
});
