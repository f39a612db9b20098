import { expect, test } from 'vitest';
import { changesOf, emptyHistory, extend, historyShape, redo, remember, type Undoable, undo } from './history.ts';

const state = (values: Record<string, string>): Undoable => ({ turns: values });
const a = state({ x: '1' });
const b = state({ x: '2', y: 'new' });
const c = state({ y: 'newer' });

test('undo and redo: go through all states', () => {
  let history = remember(emptyHistory('h'), 's1', changesOf(a, b));
  history = remember(history, 's2', changesOf(b, c));
  const [first, second] = undo(history, c) ?? [];
  expect(second).toEqual(b);
  const [back, start] = undo(first ?? history, b) ?? [];
  expect(start).toEqual(a);
  expect(undo(back ?? history, a)).toBeUndefined();
  const [forth, again] = redo(back ?? history, a) ?? [];
  expect(again).toEqual(b);
  expect(redo(forth ?? history, b)?.[1]).toEqual(c);
});

test('undo: leaves other values as they are now, and redo restores what was undone', () => {
  const history = remember(emptyHistory('h'), 's', changesOf(a, state({ x: '1', y: '' })));
  const now = state({ x: 'changed', y: 'the whole reply' });
  const [after, undone] = undo(history, now) ?? [];
  expect(undone).toEqual(state({ x: 'changed' }));
  expect(redo(after ?? history, undone ?? {})?.[1]).toEqual(now);
});

test('undo: of a list keeps items that were added since', () => {
  const lists = (...order: string[]): Undoable => ({ lists: { order } });
  const history = remember(emptyHistory('h'), 's', changesOf(lists('a'), lists('a', 'b')));
  expect(undo(history, lists('a', 'b', 'c'))?.[1]).toEqual(lists('a', 'c'));
});

test('extend: a change without a step is undone with the last one', () => {
  const asked = state({ q: 'Hi' });
  const replied = state({ q: 'Hi', r: 'Hello' });
  const history = extend(remember(emptyHistory('h'), 's', changesOf(state({}), asked)), changesOf(asked, replied));
  expect(undo(history, replied)?.[1]).toEqual(state({}));
  expect(extend(emptyHistory('h'), changesOf(asked, replied)).past).toEqual([]);
});

test('remember: clears redo, and ignores a change of nothing', () => {
  const [back] = undo(remember(emptyHistory('h'), 's', changesOf(a, b)), b) ?? [];
  expect(remember(back ?? emptyHistory('h'), 's2', changesOf(a, c)).future).toEqual([]);
  expect(remember(emptyHistory('h'), 's', changesOf(a, a)).past).toEqual([]);
});

test('remember: keeps the last 200 steps, and about 2 million characters', () => {
  let history = emptyHistory('h');
  for (let step = 0; step < 500; step += 1) history = remember(history, `${step}`, changesOf(a, b));
  expect(history.past).toHaveLength(200);
  expect(history.past[0]?.id).toBe('300');
  for (let step = 0; step < 5; step += 1)
    history = remember(history, `large ${step}`, changesOf(a, state({ x: 'x'.repeat(900_000) })));
  expect(history.past.map(({ id }) => id)).toEqual(['large 3', 'large 4']);
});

test('historyShape: steps of two tabs are both kept, each once', () => {
  const base = remember(emptyHistory('h'), 's1', changesOf(a, b));
  const mine = remember(base, 'mine', changesOf(b, c));
  const theirs = remember(base, 'theirs', changesOf(b, c));
  const both = historyShape.merge(base, mine, theirs);
  expect(both.past.map(({ id }) => id)).toEqual(['s1', 'theirs', 'mine']);
  expect(historyShape.join(historyShape.split(both))).toEqual(both);
});
