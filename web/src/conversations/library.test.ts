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
  await module.chatRecords.load();
  return { page, ...module };
}

test('chat library: loads the stored chats', async () => {
  const { chatRecords } = await loaded(chat);
  expect(chatRecords.loaded).toBe(true);
  expect(chatRecords.find('c')).toEqual(chat);
});

test('chat library: is ready and reports the error if the database cannot be read', async () => {
  fakePage().databaseError = new Error('No disk.');
  const { chatRecords } = await import('./library.svelte.ts');
  await chatRecords.load();
  const { notices } = await import('../ui/notices.svelte.ts');
  expect(chatRecords.loaded).toBe(true);
  expect(notices.list.map(({ text }) => text)).toEqual(['No disk.']);
});

test('chat library: shows and saves a changed chat at once', async () => {
  const { page, chatRecords, change } = await loaded(chat);
  change('c', (now) => ({ ...now, folder: 'Work' }));
  expect(chatRecords.find('c')?.folder).toBe('Work');
  await chatRecords.flush('c');
  expect(page.records('chats').get('c')).toMatchObject({ folder: 'Work' });
});

test('chat library: ignores a change of an unknown chat', async () => {
  const { page, change } = await loaded();
  change('gone', (now) => now);
  expect(page.records('chats').size).toBe(0);
});

test('chat library: undo and redo restore the turns but not the title', async () => {
  const { chatRecords, change } = await loaded(chat);
  change('c', (now) => withTurn(now, turn('a', null)), { undoable: true });
  change('c', (now) => ({ ...now, title: 'New' }));
  chatRecords.undo('c');
  expect(pathOf(chatRecords.find('c') as Chat)).toEqual([]);
  expect(chatRecords.find('c')?.title).toBe('New');
  chatRecords.redo('c');
  expect(pathOf(chatRecords.find('c') as Chat).map(({ id }) => id)).toEqual(['a']);
  chatRecords.redo('c');
  expect(chatRecords.historyOf('c').future).toEqual([]);
});

test('chat library: undo keeps what was added since by another tab', async () => {
  const { page, chatRecords, change } = await loaded(chat);
  change('c', (now) => withTurn(now, turn('a', null)), { undoable: true });
  await chatRecords.flush('c');
  page.records('chats').set('c', withTurn(chatRecords.find('c') as Chat, turn('b', 'a')));
  page.receive('parley.chats', { id: 'c', revision: 'other' });
  await expect.poll(() => pathOf(chatRecords.find('c') as Chat).map(({ id }) => id)).toEqual(['a', 'b']);
  chatRecords.undo('c');
  // The undone message has a reply that another tab wrote: both stay.
  expect(pathOf(chatRecords.find('c') as Chat).map(({ id }) => id)).toEqual(['a', 'b']);
});

test('chat library: the undo history survives a reload', async () => {
  const before = await loaded(chat);
  before.change('c', (now) => withTurn(now, turn('a', null)), { undoable: true });
  before.change('c', (now) => withTurn(now, turn('b', 'a')));
  before.page.fire('pagehide');
  await expect.poll(() => before.page.records('histories').size).toBe(1);
  await before.chatRecords.flush('c');
  const kept = structuredClone([...before.page.records('histories').values()]) as { id: string }[];
  const stored = before.page.records('chats').get('c') as Chat;
  const page = fakePage();
  for (const one of kept) page.records('histories').set(one.id, one);
  page.records('chats').set('c', stored);
  const { chatRecords } = await import('./library.svelte.ts');
  await chatRecords.load();
  await expect.poll(() => chatRecords.historyOf('c').past).toHaveLength(1);
  chatRecords.undo('c');
  expect(chatRecords.find('c')?.turns).toEqual({});
  chatRecords.redo('c');
  expect(pathOf(chatRecords.find('c') as Chat).map(({ id }) => id)).toEqual(['a', 'b']);
});

test('chat library: removes a chat from the database and informs other tabs', async () => {
  const { page, chatRecords } = await loaded(chat);
  await chatRecords.remove('c');
  expect(chatRecords.all).toEqual([]);
  expect(page.records('chats').size).toBe(0);
  expect(page.posted('parley.chats')).toEqual([{ id: 'c' }]);
});

test('chat library: follows changes and removals of other tabs', async () => {
  const { page, chatRecords } = await loaded(chat);
  page.records('chats').set('c', { ...chat, title: 'From another tab' });
  page.receive('parley.chats', { id: 'c', revision: 'x' });
  await expect.poll(() => chatRecords.find('c')?.title).toBe('From another tab');
  page.records('chats').delete('c');
  page.receive('parley.chats', { id: 'c' });
  await expect.poll(() => chatRecords.find('c')).toBeUndefined();
});
