import { expect, test } from 'vitest';
import type { Chat } from './conversation.ts';
import { type History, noHistory, redone, remembered, undone } from './history.ts';
import { emptyChat, pathOf, withTurn } from './tree.ts';

const first = emptyChat('c', 0);
const second = withTurn(first, { id: 'a', parent: null, role: 'user', text: 'one', at: 1 });
const third = withTurn(second, { id: 'b', parent: 'a', role: 'assistant', text: 'two', at: 2 });
const length = (chat: Chat | undefined): number | undefined => chat && pathOf(chat).length;

test('goes back step by step and forth again', () => {
  const history = remembered(remembered(noHistory, first), second);
  const once = undone(history, third);
  expect(length(once?.chat)).toBe(1);
  const twice = undone(once?.history ?? noHistory, once?.chat ?? first);
  expect(length(twice?.chat)).toBe(0);
  expect(undone(twice?.history ?? noHistory, first)).toBeUndefined();
  const forth = redone(twice?.history ?? noHistory, twice?.chat ?? first);
  expect(length(forth?.chat)).toBe(1);
  expect(length(redone(forth?.history ?? noHistory, forth?.chat ?? first)?.chat)).toBe(2);
});

test('a new change leaves nothing to do again', () => {
  const back = undone(remembered(noHistory, second), third);
  expect(redone(remembered(back?.history ?? noHistory, second), third)).toBeUndefined();
});

test('leaves title and folder as they are now', () => {
  const moved = { ...third, title: 'New name', titled: true, folder: 'Work' };
  expect(undone(remembered(noHistory, second), moved)?.chat).toMatchObject({ title: 'New name', folder: 'Work' });
});

test('forgets what is long ago', () => {
  let history: History = noHistory;
  for (let step = 0; step < 150; step += 1) history = remembered(history, second);
  expect(history.past).toHaveLength(100);
});
