import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inSlices } from '../core/slices.ts';
import { FileFull } from './atomic-file.ts';
import { jsonBytes, SaveSlots, type SaveSlotsParts, StoryTooLong, slotCount } from './save-slots.ts';
import { freshFolders } from './testing/folder.ts';

const freshFolder = freshFolders();

function slotsIn(own: Partial<SaveSlotsParts> = {}) {
  const path = own.path ?? join(freshFolder(), 'saves.jsondb');
  const warnings: string[] = [];
  const slots = new SaveSlots({
    path,
    parse: async (bytes) => JSON.parse(bytes.toString()),
    warn: (sentence) => warnings.push(sentence),
    now: () => new Date(0),
    ...own,
  });
  const load = async (slot: number) => {
    const found = await slots.load(slot);
    return found && JSON.parse(Buffer.from(found).toString());
  };
  return { path, slots, load, warnings };
}

const free = Array<string>(slotCount).fill('');
const story = (title: string, data = 'Once upon a time') => ({ title, format: 'kcpp_lzma_b64', data });

test('twelve slots are free at first', async () => {
  const { path, slots, load } = slotsIn();
  expect(await slots.titles()).toEqual(free);
  expect(await load(0)).toBeUndefined();
  expect(existsSync(path)).toBe(false);
});

test('a story is found again in its slot, also by the next program', async () => {
  const { path, slots, load } = slotsIn();
  const special = { title: 'A "title"\n🦜', format: 'füll', data: '{"a":"\\u0000"}\ud83e 語' };
  await slots.save(11, special);
  await slots.save(0, story('First'));
  expect(await slots.titles()).toEqual(['First', ...free.slice(2), special.title]);
  expect(await load(11)).toEqual(special);
  expect(await slotsIn({ path }).load(11)).toEqual(special);
});

test('the file is an object by the numbers of the slots, as other programs write it', async () => {
  const { path, slots } = slotsIn();
  await slots.save(3, story('Third'));
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ 3: story('Third') });
});

test('a file of another program is read, with slots that were erased or lack something, and keeps what is unknown', async () => {
  const { path, slots, load } = slotsIn();
  writeFileSync(
    path,
    JSON.stringify({ 0: story('Theirs'), 1: null, 2: { data: 'x' }, notes: [1, { a: 2 }], 12: 'y', '': 3, '03': [] }),
  );
  expect(await slots.titles()).toEqual(['Theirs', ...free.slice(1)]);
  expect(await load(2)).toEqual({ title: '', format: '', data: 'x' });
  expect(await load(12)).toBeUndefined();
  await slots.erase(2);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
    0: story('Theirs'),
    12: 'y',
    notes: [1, { a: 2 }],
    '': 3,
    '03': [],
  });
});

test('a slot can be written over and erased', async () => {
  const { slots, load } = slotsIn();
  await slots.save(4, story('Old', 'old'));
  await slots.save(4, story('New', 'new'));
  expect(await load(4)).toEqual(story('New', 'new'));
  await slots.erase(4);
  await slots.erase(5);
  expect([await slots.titles(), await load(4)]).toEqual([free, undefined]);
});

test.each([-1, 12, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('there is no slot %d', async (slot) => {
  const { slots, load } = slotsIn();
  await expect(slots.save(slot, story('x'))).rejects.toThrow(RangeError);
  expect(await load(slot)).toBeUndefined();
});

test('a story has a greatest length, title and format included', async () => {
  const { slots } = slotsIn({ limits: { characters: 10, bytes: 1000 } });
  await slots.save(0, { title: 'abc', format: 'def', data: '0123' });
  await expect(slots.save(0, { title: 'abc', format: 'def', data: '01234' })).rejects.toBeInstanceOf(StoryTooLong);
  await expect(slots.save(0, { title: '01234567890', format: '', data: 'x' })).rejects.toBeInstanceOf(StoryTooLong);
});

test('all stories together have one too, and those that were there stay', async () => {
  const { slots } = slotsIn({ limits: { characters: 500, bytes: 700 } });
  await slots.save(0, story('a', 'x'.repeat(400)));
  await expect(slots.save(1, story('b', 'x'.repeat(400)))).rejects.toBeInstanceOf(FileFull);
  expect(await slots.titles()).toEqual(['a', ...free.slice(1)]);
  await slots.erase(0);
  await slots.save(1, story('b', 'x'.repeat(400)));
  expect(await slots.titles()).toEqual(['', 'b', ...free.slice(2)]);
});

test.each([
  ['half of it', '{"0": {"title": "a", "for'],
  ['zeros', '\0'.repeat(4096)],
  ['a slot that is a number', '{"0": 5}'],
  ['a slot that is a list', '{"0": []}'],
  ['a title that is no text', '{"7": {"title": {}, "format": "", "data": ""}}'],
])('a file that holds %s is put aside with all that is in it', async (_, content) => {
  const { path, slots, warnings } = slotsIn();
  writeFileSync(path, content);
  expect(await slots.titles()).toEqual(free);
  await slots.save(0, story('New'));
  const aside = readdirSync(dirname(path)).find((name) => name.includes('damaged')) ?? '';
  expect(readFileSync(join(dirname(path), aside), 'utf8')).toBe(content);
  expect(warnings).toHaveLength(1);
});

test('saves at the same time are all kept', async () => {
  const { path, slots } = slotsIn();
  await Promise.all(free.map((_, slot) => slots.save(slot, story(`Story ${slot}`))));
  expect(await slotsIn({ path }).slots.titles()).toEqual(free.map((_, slot) => `Story ${slot}`));
});

const written = async (text: string) => Buffer.concat(await inSlices(jsonBytes(text))).toString();

test('any text is written as the language itself writes it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary' }), async (text) => {
      expect(await written(text)).toBe(JSON.stringify(text));
    }),
  );
});

test.each([0, 1, 2, 3])('a character of two halves is whole wherever a slice ends (%i before it)', async (before) => {
  const text = 'x'.repeat(before) + '🦜'.repeat(20_000);
  expect(await written(text)).toBe(JSON.stringify(text));
});

test('half a character alone is written as an escape, also at the end of a slice', async () => {
  const text = `${'x'.repeat(16_383)}\ud83e${'y'.repeat(20_000)}\udd9c`;
  expect(await written(text)).toBe(JSON.stringify(text));
});

test('others are let in every few thousand characters', () => {
  expect([...jsonBytes('a'.repeat(1_000_000))].length).toBeGreaterThan(50);
});
