import { expect, test } from 'vitest';
import { emptyHistory, type History, redo, remember, undo } from './history.ts';

test('undo and redo: go through all states', () => {
  let history: History<string> = remember(remember(emptyHistory, 'a'), 'b');
  const [first, b] = undo(history, 'c') ?? [];
  expect(b).toBe('b');
  const [second, a] = undo(first ?? emptyHistory, 'b') ?? [];
  expect(a).toBe('a');
  expect(undo(second ?? emptyHistory, 'a')).toBeUndefined();
  const [third, again] = redo(second ?? emptyHistory, 'a') ?? [];
  expect(again).toBe('b');
  history = third ?? emptyHistory;
  expect(redo(history, 'b')?.[1]).toBe('c');
});

test('remember: clears redo', () => {
  const [back] = undo(remember<string>(emptyHistory, 'a'), 'b') ?? [];
  expect(redo(remember(back ?? emptyHistory, 'a'), 'new')).toBeUndefined();
});

test('remember: keeps the last 200 states', () => {
  let history: History<number> = emptyHistory;
  for (let state = 0; state < 500; state += 1) history = remember(history, state);
  expect(history.past).toHaveLength(200);
  expect(history.past[0]).toBe(300);
});
