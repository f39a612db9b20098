import { expect, test } from 'vitest';
import { conversation } from './cache.ts';

const course = { changing: false, number: 1, wordsOfRules: 150 };

test('each turn sends the conversation before it again, word for word', () => {
  const earlier = conversation(2, course).replace(/Agent:$/, '');
  expect(conversation(3, course).startsWith(earlier)).toBe(true);
});

test('only the line near the top changes where one does', () => {
  const earlier = conversation(2, { ...course, changing: true }).split('\n');
  const later = conversation(3, { ...course, changing: true }).split('\n');
  const differing = earlier.slice(0, -1).flatMap((line, index) => (line === later[index] ? [] : [index]));
  expect(differing).toEqual([1]);
});
