import { expect, test } from 'vitest';
import { conversation } from './cache.ts';

test('each turn sends the conversation before it again, word for word', () => {
  const earlier = conversation(2, { changing: false, number: 1, wordsOfRules: 150 });
  expect(conversation(3, { changing: false, number: 1, wordsOfRules: 150 }).slice(0, earlier.length)).toEqual(earlier);
});

test('only the line near the top changes where one does', () => {
  const [first, ...rest] = conversation(2, { changing: true, number: 1, wordsOfRules: 150 });
  const [later, ...more] = conversation(3, { changing: true, number: 1, wordsOfRules: 150 });
  expect(first?.content.split('\n').map((line, index) => line === later?.content.split('\n')[index])).toEqual([
    true,
    false,
    true,
  ]);
  expect(more.slice(0, rest.length)).toEqual(rest);
});
