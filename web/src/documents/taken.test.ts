import { expect, test } from 'vitest';
import type { Chat, ChatCollection } from '../conversations/conversation.ts';
import { emptyChat } from '../conversations/tree.ts';
import { collectionsOf, reachOf, uniqueById, withReach } from './taken.ts';

const notes = { id: 'vs_1', name: 'Notes' };
const tax = { id: 'vs_2', name: 'Tax' };
const chat = (id: string, folder: string, collections?: readonly ChatCollection[]): Chat => ({
  ...emptyChat(id, 1, folder),
  ...(collections && { collections }),
});

/** The chats after a choice in one of them. */
function chosen(chats: readonly Chat[], id: string, reach: 'off' | 'chat' | 'folder', collection = notes): Chat[] {
  const here = chats.find((one) => one.id === id) as Chat;
  const changed = withReach(here, chats, collection, reach);
  return chats.map((one) => changed.find((other) => other.id === one.id) ?? one);
}
const reaches = (chats: readonly Chat[], id = notes.id) => chats.map((one) => reachOf(one, chats, id));

test('collectionsOf: those of the chat first, then those that others of its folder share', () => {
  const shared = { ...tax, folder: 'Work' };
  const chats = [chat('a', 'Work', [notes]), chat('b', 'Work', [shared]), chat('c', 'Home', [shared])];
  expect(chats.map((one) => collectionsOf(one, chats).map(({ name }) => name))).toEqual([
    ['Notes', 'Tax'],
    ['Tax'],
    [],
  ]);
});

test('collectionsOf: chats without a folder share nothing', () => {
  const chats = [chat('a', '', [notes]), chat('b', '')];
  expect(reaches(chats)).toEqual(['chat', 'off']);
});

test('withReach: a chat has a collection for itself, and loses it again', () => {
  const chats = [chat('a', ''), chat('b', '', [tax])];
  const on = chosen(chats, 'a', 'chat');
  expect(reaches(on)).toEqual(['chat', 'off']);
  expect(on[1]).toBe(chats[1]);
  expect(reaches(chosen(on, 'a', 'off'))).toEqual(['off', 'off']);
});

test('withReach: all chats of a folder keep what belongs to it, new ones find it, and each can end it', () => {
  const on = chosen([chat('a', 'Work'), chat('b', 'Work'), chat('c', 'Home')], 'a', 'folder');
  expect(on.map(({ collections }) => collections?.length ?? 0)).toEqual([1, 1, 0]);
  const more = [...on.slice(1), chat('new', 'Work')];
  expect(reaches(more)).toEqual(['folder', 'off', 'folder']);
  expect(reaches(chosen(more, 'new', 'off'))).toEqual(['off', 'off', 'off']);
});

test('withReach: from the folder to one chat', () => {
  const on = chosen([chat('a', 'Work'), chat('b', 'Work')], 'a', 'folder');
  expect(reaches(chosen(on, 'b', 'chat'))).toEqual(['off', 'chat']);
});

test('withReach: another chat keeps what it has for itself when its folder gets and loses the same', () => {
  const chats = [chat('a', 'Work'), chat('b', 'Work', [notes])];
  const on = chosen(chats, 'a', 'folder');
  expect(reaches(chosen(on, 'a', 'off'))).toEqual(['off', 'chat']);
});

test('withReach: a chat that moves to another folder leaves what belongs to the first one', () => {
  const [a] = chosen([chat('a', 'Work')], 'a', 'folder');
  const moved = { ...(a as Chat), folder: 'Home' };
  expect(collectionsOf(moved, [moved])).toEqual([]);
});

test('withReach: what is chosen already changes nothing', () => {
  const on = chosen([chat('a', 'Work')], 'a', 'folder');
  expect(withReach(on[0] as Chat, on, notes, 'folder')).toEqual([]);
});

test('uniqueById: the first of each', () => {
  expect(uniqueById([notes, tax, { id: 'vs_1', name: 'Other' }])).toEqual([notes, tax]);
});
