import { expect, test } from 'vitest';
import { completedQuery } from './follow-up.ts';

const earlier = 'How is the prefix cache of the text engine stored?';

test.each([
  'And when is it deleted?',
  'Where?',
  'What about the disk cache of speech models then?',
  'Wie lange bleibt er erhalten?',
])('completedQuery: %s is completed from the message before', (query) => {
  expect(completedQuery(query, ['Hello', earlier])).toBe(`${earlier} ${query}`);
});

test('completedQuery: a question of its own is searched as it is', () => {
  const query = 'Which flags start the server with two models?';
  expect(completedQuery(query, [earlier])).toBe(query);
});

test('completedQuery: of several follow-up questions the subject of the first stays', () => {
  expect(completedQuery('And where?', [earlier, 'Is it deleted?'])).toBe(`${earlier} Is it deleted? And where?`);
});

test('completedQuery: without earlier messages a short question stays as it is', () => {
  expect(completedQuery('Where is it?', [])).toBe('Where is it?');
  expect(completedQuery('Where is it?', ['Where is it?', ' '])).toBe('Where is it?');
});

test('completedQuery: takes the end of a long message, and any number of messages', () => {
  const long = 'word '.repeat(100_000);
  expect(completedQuery('Why?', [long]).length).toBeLessThan(310);
  expect(completedQuery('Why?', Array<string>(1000).fill('And?')).length).toBeLessThan(400);
});
