import { expect, test } from 'vitest';
import { disagreement } from './open.ts';

const vocabulary = (size: number, text = (token: number) => `t${token}`) => ({
  size,
  bytes: (token: number) => Buffer.from(text(token)),
});

test('vocabularies with the same tokens agree', () => {
  expect(disagreement(vocabulary(5000), vocabulary(5000))).toBeUndefined();
});

test('a little padding behind the last token is no disagreement', () => {
  const padded = vocabulary(5100, (token) => (token < 5000 ? `t${token}` : 'padding'));
  expect(disagreement(vocabulary(5000), padded)).toBeUndefined();
  expect(disagreement(padded, vocabulary(5000))).toBeUndefined();
});

test('another size is another vocabulary', () => {
  expect(disagreement(vocabulary(5000), vocabulary(6000))).toBe('it has 6000 tokens and the model has 5000');
});

test('other texts are another vocabulary, of whatever size', () => {
  const other = vocabulary(300, (token) => (token < 200 ? `t${token}` : `u${token}`));
  expect(disagreement(vocabulary(300), other)).toBe('token 200 is "u200" there and "t200" here');
});
