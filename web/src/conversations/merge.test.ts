import { describe, expect, test } from 'vitest';
import type { Chat, Turn } from './conversation.ts';
import { chatShape, mergedChats } from './merge.ts';
import { emptyChat, pathOf, renamed, withChange, withChosen, withoutTurn, withTurn } from './tree.ts';

const turn = (id: string, parent: string | null, at = 1): Turn => ({ id, parent, role: 'user', text: id, at });
const base: Chat = ['a', 'b', 'c'].reduce(
  (chat, id, index) => withTurn(chat, turn(id, ['a', 'b'][index - 1] ?? null, index)),
  emptyChat('c', 0),
);
const path = (chat: Chat) => pathOf(chat).map(({ id }) => id);

describe('mergedChats', () => {
  test('keeps edits of different turns, the title and the folder', () => {
    const mine = renamed(withChange(base, 'a', { text: 'A!' }), 'Mine');
    const theirs = { ...withChange(base, 'c', { text: 'C!' }), folder: 'Work' };
    const both = mergedChats(base, mine, theirs);
    expect(pathOf(both).map(({ text }) => text)).toEqual(['A!', 'b', 'C!']);
    expect(both).toMatchObject({ title: 'Mine', folder: 'Work' });
  });

  test('two messages at the same place are versions', () => {
    const both = mergedChats(base, withTurn(base, turn('m', 'c', 9)), withTurn(base, turn('t', 'c', 8)));
    expect(path(both)).toEqual(['a', 'b', 'c', 'm']);
    expect(both.turns.t).toBeDefined();
    expect(both.changedAt).toBe(9);
  });

  test('a reply below a deleted turn brings it back, with the turns before it', () => {
    const both = mergedChats(base, withoutTurn(base, 'b'), withTurn(base, turn('d', 'c', 5)));
    expect(path(both)).toEqual(['a', 'b', 'c', 'd']);
    expect(path(mergedChats(base, withTurn(base, turn('d', 'c', 5)), withoutTurn(base, 'b')))).toEqual(path(both));
  });

  test('a deleted turn stays deleted if the other side changed something else', () => {
    const both = mergedChats(base, withoutTurn(base, 'c'), withChange(base, 'a', { text: 'A!' }));
    expect(pathOf(both).map(({ text }) => text)).toEqual(['A!', 'b']);
  });

  test('chooses another version if the chosen one is gone', () => {
    const versions = withChosen(withTurn(base, turn('c2', 'b', 7)), 'c');
    const mine = withoutTurn(versions, 'c');
    expect(path(mergedChats(versions, mine, { ...versions, folder: 'F' }))).toEqual(['a', 'b', 'c2']);
  });

  test('without a base keeps the turns of both', () => {
    const one = withTurn(base, turn('m', 'c', 9));
    const other = withTurn(base, turn('t', 'c', 8));
    expect(Object.keys(mergedChats(undefined, one, other).turns).sort()).toEqual(['a', 'b', 'c', 'm', 't']);
  });
});

test('chatShape: joins what it has split, with the same turns', () => {
  const joined = chatShape.join(chatShape.split(base));
  expect(joined).toEqual(base);
  expect(joined.turns.a).toBe(base.turns.a);
});
