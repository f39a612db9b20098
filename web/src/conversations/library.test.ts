import { expect, test } from 'vitest';
import { fakePage } from '../testing/page.ts';
import type { Chat, Turn } from './conversation.ts';
import { emptyChat, pathOf, withTurn } from './tree.ts';

const chat: Chat = { ...emptyChat('c', 1), title: 'Old', titled: true };
const turn = (id: string, parent: string | null, text = id): Turn => ({ id, parent, role: 'user', text, at: 1 });

async function loaded(...chats: readonly Chat[]) {
  const page = fakePage();
  for (const one of chats) page.records('chats').set(one.id, one);
  const module = await import('./library.svelte.ts');
  await module.libraryLoaded();
  return { page, ...module };
}

test('chat library: loads the stored chats', async () => {
  const { library } = await loaded(chat);
  expect(library.ready).toBe(true);
  expect(library.get('c')).toEqual(chat);
});

test('chat library: is ready and reports the error if the database cannot be read', async () => {
  fakePage().databaseError = new Error('No disk.');
  const { library, libraryLoaded } = await import('./library.svelte.ts');
  await libraryLoaded();
  const { notices } = await import('../ui/notices.svelte.ts');
  expect(library.ready).toBe(true);
  expect(notices.list.map(({ text }) => text)).toEqual(['No disk.']);
});

test('chat library: shows and saves a changed chat at once', async () => {
  const { page, library, change, saveNow } = await loaded(chat);
  change('c', (now) => ({ ...now, folder: 'Work' }));
  expect(library.get('c')?.folder).toBe('Work');
  await saveNow('c');
  expect(page.records('chats').get('c')).toMatchObject({ folder: 'Work' });
});

test('chat library: ignores a change of an unknown chat', async () => {
  const { page, change } = await loaded();
  change('gone', (now) => now);
  expect(page.records('chats').size).toBe(0);
});

test('chat library: undo and redo restore the turns but not the title', async () => {
  const { library, change, undo, redo } = await loaded(chat);
  change('c', (now) => withTurn(now, turn('a', null)), { undoable: true });
  change('c', (now) => ({ ...now, title: 'New' }));
  undo('c');
  expect(pathOf(library.get('c') as Chat)).toEqual([]);
  expect(library.get('c')?.title).toBe('New');
  redo('c');
  expect(pathOf(library.get('c') as Chat).map(({ id }) => id)).toEqual(['a']);
  redo('c');
  expect(library.history('c').future).toEqual([]);
});

test('chat library: undo keeps what was added since by another tab', async () => {
  const { page, library, change, undo, saveNow } = await loaded(chat);
  change('c', (now) => withTurn(now, turn('a', null)), { undoable: true });
  await saveNow('c');
  page.records('chats').set('c', withTurn(library.get('c') as Chat, turn('b', 'a')));
  page.receive('parley.chats', { id: 'c', revision: 'other' });
  await expect.poll(() => pathOf(library.get('c') as Chat).map(({ id }) => id)).toEqual(['a', 'b']);
  undo('c');
  // The undone message has a reply that another tab wrote: both stay.
  expect(pathOf(library.get('c') as Chat).map(({ id }) => id)).toEqual(['a', 'b']);
});

test('chat library: the undo history survives a reload', async () => {
  const before = await loaded(chat);
  before.change('c', (now) => withTurn(now, turn('a', null)), { undoable: true });
  before.change('c', (now) => withTurn(now, turn('b', 'a')));
  before.page.fire('pagehide');
  await expect.poll(() => before.page.records('histories').size).toBe(1);
  await before.saveNow('c');
  const kept = structuredClone([...before.page.records('histories').values()]) as { id: string }[];
  const stored = before.page.records('chats').get('c') as Chat;
  const page = fakePage();
  for (const one of kept) page.records('histories').set(one.id, one);
  page.records('chats').set('c', stored);
  const { library, libraryLoaded, undo, redo } = await import('./library.svelte.ts');
  await libraryLoaded();
  await expect.poll(() => library.history('c').past).toHaveLength(1);
  undo('c');
  expect(library.get('c')?.turns).toEqual({});
  redo('c');
  expect(pathOf(library.get('c') as Chat).map(({ id }) => id)).toEqual(['a', 'b']);
});

test('chat library: removes a chat from the database and informs other tabs', async () => {
  const { page, library, remove } = await loaded(chat);
  await remove('c');
  expect(library.chats).toEqual([]);
  expect(page.records('chats').size).toBe(0);
  expect(page.posted('parley.chats')).toEqual([{ id: 'c' }]);
});

test('chat library: follows changes and removals of other tabs', async () => {
  const { page, library } = await loaded(chat);
  page.records('chats').set('c', { ...chat, title: 'From another tab' });
  page.receive('parley.chats', { id: 'c', revision: 'x' });
  await expect.poll(() => library.get('c')?.title).toBe('From another tab');
  page.records('chats').delete('c');
  page.receive('parley.chats', { id: 'c' });
  await expect.poll(() => library.get('c')).toBeUndefined();
});
