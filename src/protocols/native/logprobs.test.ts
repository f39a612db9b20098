import { expect, test } from 'vitest';
import { encodeLogprobs } from './logprobs.ts';

const choice = (token: number, text: string, logprob: number) => ({
  token,
  text,
  logprob,
  bytes: [...Buffer.from(text)],
});

test('one token is told in the words of every dialect that reads this', () => {
  const token = { ...choice(5, 'Hé', -0.5), top: [choice(5, 'Hé', -0.5), choice(6, 'Hi', -1)] };
  expect(encodeLogprobs([token])).toEqual({
    content: [
      {
        token: 'Hé',
        token_id: 5,
        logprob: -0.5,
        bytes: [72, 195, 169],
        top_logprobs: [
          { token: 'Hé', token_id: 5, logprob: -0.5, bytes: [72, 195, 169] },
          { token: 'Hi', token_id: 6, logprob: -1, bytes: [72, 105] },
        ],
      },
    ],
    tokens: ['Hé'],
    token_ids: [5],
    token_logprobs: [-0.5],
    top_logprobs: [{ Hé: -0.5, Hi: -1 }],
    text_offset: [0],
  });
});

test('offsets count characters, not units of them', () => {
  const tokens = ['a', '😀', 'bc'].map((text, index) => ({ ...choice(index, text, -1), top: [] }));
  expect(encodeLogprobs(tokens)).toMatchObject({ text_offset: [0, 1, 2] });
});

test('nothing is less likely than one in ten thousand, and ten alternatives are enough', () => {
  const top = Array.from({ length: 20 }, (_, token) => choice(token, `t${token}`, -50));
  const told = encodeLogprobs([{ ...choice(1, 'x', Number.NEGATIVE_INFINITY), top }]) as Record<string, never[]>;
  expect(told.token_logprobs).toEqual([Math.log(0.0001)]);
  expect(Object.values(told.top_logprobs?.[0] ?? {})).toEqual(Array.from({ length: 10 }, () => Math.log(0.0001)));
  expect(JSON.stringify(told)).not.toContain('null');
});

test('no tokens are empty lists', () => {
  expect(encodeLogprobs([])).toEqual({
    content: [],
    tokens: [],
    token_ids: [],
    token_logprobs: [],
    top_logprobs: [],
    text_offset: [],
  });
});
