import { describe, expect, test } from 'vitest';
import type { Chat } from '../conversations/conversation.ts';
import { emptyChat, renamed, withTurn } from '../conversations/tree.ts';
import { newPassage, newStory, type Story } from '../story/story.ts';
import { foldersOf, foundPassage, type Item, itemGroups, itemsOf, matchingItems, neighbour } from './items.ts';

function chat(title: string, text = '', fields: Partial<Chat> = {}): Chat {
  const said = withTurn(emptyChat(title, 0), { id: 't', parent: null, role: 'user', text, at: 0 });
  return { ...renamed(said, title), changedAt: 0, ...fields };
}
function story(title: string, text = '', fields: Partial<Story> = {}): Story {
  return newStory({ id: title, changed: 0, title, passages: [newPassage('p', 'person', text)], ...fields });
}
const titles = (items: readonly Item[]): string[] => items.map(({ title }) => title);

test('itemsOf: a chat with characters is a character chat, and unchanged sources keep their item', () => {
  const sources = [chat('Plain'), chat('Ada', '', { characters: ['ada'] })];
  const items = itemsOf(sources, [story('Tale')]);
  expect(items.map(({ kind }) => kind)).toEqual(['chat', 'character', 'story']);
  expect(itemsOf(sources, [])[0]).toBe(items[0]);
});

describe('matchingItems', () => {
  const items = itemsOf(
    [chat('Bread', 'How long does rye bake?'), chat('Trip', 'Trains to Bergen', { folder: 'Travel' })],
    [story('Bergen', 'It rained on the rye.')],
  );

  test('searches titles, folders and texts of chats and stories, in any case', () => {
    expect(titles(matchingItems(items, 'bergen'))).toEqual(['Trip', 'Bergen']);
    expect(titles(matchingItems(items, 'TRAVEL'))).toEqual(['Trip']);
    expect(titles(matchingItems(items, 'rye'))).toEqual(['Bread', 'Bergen']);
  });

  test('requires all words', () => {
    expect(titles(matchingItems(items, 'bread rye'))).toEqual(['Bread']);
    expect(matchingItems(items, 'bread bergen')).toEqual([]);
  });

  test('returns all items of a kind for an empty query', () => {
    expect(matchingItems(items, '  ')).toHaveLength(3);
    expect(titles(matchingItems(items, '', 'story'))).toEqual(['Bergen']);
  });
});

describe('foundPassage', () => {
  const [found] = itemsOf([chat('Bread', `${'Flour. '.repeat(20)}How long\n does rye bake?`)], []) as [Item];

  test('is the text around the first word that the title lacks', () => {
    expect(foundPassage(found, 'bread RYE')).toBe('… Flour. How long does rye bake?');
    expect(foundPassage(found, 'flour')).toBe(`${'Flour. '.repeat(13)}…`);
  });

  test('is undefined if the title has all words', () => {
    expect(foundPassage(found, 'bread')).toBeUndefined();
  });
});

describe('itemGroups', () => {
  const now = new Date(2026, 10, 16, 12, 0);
  const hours = (count: number): number => now.getTime() - count * 3_600_000;
  const at = (title: string, changedAt: number, fields: Partial<Chat> = {}) =>
    chat(title, '', { changedAt, ...fields });

  test('lists pinned items, folders by name, then other items by age', () => {
    const list = itemGroups(
      itemsOf(
        [
          at('old', hours(24 * 60)),
          at('now', hours(1)),
          at('b', hours(2), { folder: 'Part 10' }),
          at('a', hours(3), { folder: 'Part 2' }),
          at('week', hours(24 * 4)),
          at('month', hours(24 * 20)),
          at('kept', hours(24 * 80), { pinned: true, folder: 'Part 2' }),
        ],
        [story('before', '', { changed: hours(20) })],
      ),
      now,
    );
    expect(list.map(({ title, items }) => [title, ...titles(items)])).toEqual([
      ['Pinned', 'kept'],
      ['Part 2', 'a'],
      ['Part 10', 'b'],
      ['Today', 'now'],
      ['Yesterday', 'before'],
      ['Last 7 days', 'week'],
      ['Last 30 days', 'month'],
      ['Earlier', 'old'],
    ]);
    expect(list.slice(0, 4).map(({ kind }) => kind)).toEqual(['pinned', 'folder', 'folder', 'period']);
  });

  test('lists the newest first, and knows neighbours', () => {
    const groups = itemGroups(itemsOf([at('first', hours(3)), at('last', hours(1))], []), now);
    expect(groups.flatMap(({ items }) => titles(items))).toEqual(['last', 'first']);
    expect(neighbour(groups, 'last', 1)?.title).toBe('first');
    expect(neighbour(groups, 'last', -1)).toBeUndefined();
    expect(neighbour(groups, undefined, 1)?.title).toBe('last');
  });

  test('groups a minute before midnight as yesterday', () => {
    const midnight = new Date(2026, 10, 16).getTime();
    expect(itemGroups(itemsOf([at('x', midnight - 60_000)], []), now)[0]?.title).toBe('Yesterday');
    expect(itemGroups(itemsOf([at('x', midnight)], []), now)[0]?.title).toBe('Today');
  });
});

test('foldersOf: lists each folder once, by name', () => {
  const items = itemsOf([chat('a', '', { folder: 'Part 10' }), chat('b', '', { folder: 'Part 2' })], [story('c')]);
  expect(foldersOf([...items, ...items])).toEqual(['Part 2', 'Part 10']);
});
