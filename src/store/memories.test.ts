import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Embed } from '../core/memories.ts';
import { MemoryStore } from './memories.ts';
import { freshFolders } from './testing/folder.ts';

const folder = freshFolders();

function opened({ path = join(folder(), 'own', 'common.json'), memories = 100, seconds = 0 } = {}) {
  let ids = 0;
  let time = seconds;
  const store = new MemoryStore({
    path,
    warn: () => undefined,
    now: () => new Date(1000 * time++),
    newId: () => `m${++ids}`,
    limits: { memories, bytes: 2 ** 20 },
  });
  return { store, path };
}

/** A vector with a number for each of these words. */
const byWords: Embed = {
  model: 'words',
  vectors: async (texts) =>
    texts.map((text) => Float32Array.from(['dog', 'work', 'music'].map((word) => (text.includes(word) ? 1 : 0)))),
};

test('memories: what was added is there after a restart, and only the account can read it', async () => {
  const { store, path } = opened();
  await store.add({ text: '  Has a dog called Rex. ', pinned: true });
  expect(await opened({ path }).store.list()).toEqual([
    { id: 'm1', text: 'Has a dog called Rex.', pinned: true, createdAt: 0, changedAt: 0 },
  ]);
  if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('memories: the same sentence is kept once for each character', async () => {
  const { store } = opened();
  const first = await store.add({ text: 'Likes tea.' });
  expect(await store.add({ text: 'likes  TEA' })).toEqual(first);
  await store.add({ text: 'Likes tea.', character: 'Ada' });
  expect(await store.list()).toHaveLength(2);
});

test('memories: pinned ones come first, then the newest; a character has its own and those of every chat', async () => {
  const { store } = opened();
  await store.add({ text: 'one' });
  await store.add({ text: 'two', pinned: true });
  await store.add({ text: 'three', character: 'Ada' });
  await store.add({ text: 'four', character: 'Bob' });
  const texts = async (character?: string) => (await store.list(character)).map(({ text }) => text);
  expect(await texts()).toEqual(['two', 'four', 'three', 'one']);
  expect(await texts('Ada')).toEqual(['two', 'three', 'one']);
});

test('memories: text, pin and character are changed one by one', async () => {
  const { store } = opened();
  const { id } = await store.add({ text: 'one', character: 'Ada' });
  await store.change(id, { pinned: true });
  await store.change(id, { text: 'two' });
  expect(await store.change(id, { character: null })).toMatchObject({ text: 'two', pinned: true });
  expect((await store.list())[0]).not.toHaveProperty('character');
  expect(await store.change('none', { text: 'x' })).toBeUndefined();
  expect([await store.delete(id), await store.delete(id)]).toEqual([true, false]);
});

test('memories: an empty or too long text, and one beyond the limit, are refused', async () => {
  const { store } = opened({ memories: 1 });
  await expect(store.add({ text: ' ' })).rejects.toMatchObject({ code: 'invalid-field' });
  await expect(store.add({ text: 'x'.repeat(2001) })).rejects.toMatchObject({ code: 'invalid-field' });
  await store.add({ text: 'one' });
  await expect(store.add({ text: 'two' })).rejects.toThrow('1 memories are kept at most');
  expect(await store.list()).toHaveLength(1);
});

test('memories: a damaged file is kept aside; one of a later version is left alone', async () => {
  const { store, path } = opened();
  await store.add({ text: 'one' });
  writeFileSync(path, '{"file_version":1,"memories":[{"id":1}]}');
  expect(await opened({ path }).store.list()).toEqual([]);
  writeFileSync(path, '{"file_version":99}');
  await expect(opened({ path }).store.add({ text: 'two' })).rejects.toThrow('newer version');
  expect(readFileSync(path, 'utf8')).toBe('{"file_version":99}');
});

test('find: the pinned ones and those that are nearest in meaning', async () => {
  const { store } = opened();
  await store.add({ text: 'The dog is called Rex.' });
  await store.add({ text: 'Plays music at work.' });
  await store.add({ text: 'Works at night: work.' });
  await store.add({ text: 'Lives in Graz.', pinned: true });
  const found = await store.find({ text: 'How is work?', limit: 1 }, byWords);
  expect(found.map(({ text }) => text)).toEqual(['Lives in Graz.', 'Works at night: work.']);
  expect(await store.find({ text: 'Nothing of this.', limit: 5 }, byWords)).toHaveLength(1);
});

test('find: without an embedding model by the words that they share', async () => {
  const { store } = opened();
  await store.add({ text: 'Her sister Paula lives in Graz.' });
  await store.add({ text: 'Prefers green tea.' });
  const found = await store.find({ text: 'When did I last visit Paula, my sister?', limit: 3 });
  expect(found.map(({ text }) => text)).toEqual(['Her sister Paula lives in Graz.']);
});

test('find: each memory is embedded once for each model', async () => {
  const { store } = opened();
  await store.add({ text: 'a dog' });
  const asked: (readonly string[])[] = [];
  const embed: Embed = {
    ...byWords,
    vectors: (texts) => {
      asked.push(texts);
      return byWords.vectors(texts);
    },
  };
  await store.find({ text: 'dog?', limit: 1 }, embed);
  await store.find({ text: 'dog!', limit: 1 }, embed);
  await store.find({ text: 'dog', limit: 1 }, { ...embed, model: 'other' });
  expect(asked).toEqual([['dog?', 'a dog'], ['dog!'], ['dog', 'a dog']]);
});
