import { expect, test } from 'vitest';
import type { Source, Turn } from '../../conversations/conversation.ts';
import { sourcesByTurn } from './cited-sources.ts';

const source = (title: string): Source => ({ title, text: `${title} text` });
const turn = (id: string, role: Turn['role'], sources?: readonly Source[]): Turn => ({
  id,
  parent: null,
  role,
  text: id,
  at: 1,
  ...(sources && { sources }),
});

test('sourcesByTurn: a reply cites the sources of its message, which are listed below it', () => {
  const tea = [source('Tea')];
  const found = sourcesByTurn([turn('q', 'user', tea), turn('a', 'assistant')]);
  expect(found.get('q')).toBeUndefined();
  expect(found.get('a')).toEqual({ sources: tea, labels: ['Tea\nTea text'], listed: true });
});

test('sourcesByTurn: listed once, below the last of several replies and after tool calls', () => {
  const path = [
    turn('q', 'user', [source('Tea')]),
    turn('call', 'assistant'),
    turn('r', 'tool'),
    turn('a', 'assistant'),
  ];
  const found = sourcesByTurn(path);
  expect(['call', 'r', 'a'].map((id) => found.get(id)?.listed)).toEqual([false, undefined, true]);
});

test('sourcesByTurn: below the message while it has no reply', () => {
  expect(sourcesByTurn([turn('q', 'user', [source('Tea')])]).get('q')?.listed).toBe(true);
});

test('sourcesByTurn: a message without sources leaves those before it to be cited, but lists none', () => {
  const path = [turn('q', 'user', [source('Tea')]), turn('a', 'assistant'), turn('p', 'user'), turn('b', 'assistant')];
  const found = sourcesByTurn(path);
  expect([found.get('a')?.listed, found.get('b')?.listed]).toEqual([true, false]);
  expect(found.get('b')?.sources[0]?.title).toBe('Tea');
});

test('sourcesByTurn: labels hold the start of a long text', () => {
  const long = { title: 'Long', text: 'word\n'.repeat(200) };
  expect(sourcesByTurn([turn('q', 'user', [long])]).get('q')?.labels[0]?.length).toBeLessThan(260);
});

test('sourcesByTurn: a reply with sources of its own lists those', () => {
  const [tea, soup] = [[source('Tea')], [source('Soup')]];
  const found = sourcesByTurn([turn('q', 'user', tea), turn('a', 'assistant', soup)]);
  expect(found.get('a')).toMatchObject({ sources: soup, listed: true });
  expect(found.get('q')).toBeUndefined();
});
