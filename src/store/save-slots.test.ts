import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inSlices } from '../core/slices.ts';
import { anyCharacter } from '../core/testing/any-character.ts';
import { FileFull } from './atomic-file.ts';
import { jsonBytes, SaveSlots, type SaveSlotsOptions, StoryTooLong, slotCount } from './save-slots.ts';
import { freshFolders } from './testing/folder.ts';

const freshFolder = freshFolders();

function slotsIn(own: Partial<SaveSlotsOptions> = {}) {
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

test('SaveSlots: has twelve free slots at first', async () => {
  const { path, slots, load } = slotsIn();
  expect(await slots.titles()).toEqual(free);
  expect(await load(0)).toBeUndefined();
  expect(existsSync(path)).toBe(false);
});

test('SaveSlots: loads a saved story, also in the next instance', async () => {
  const { path, slots, load } = slotsIn();
  const special = { title: 'A "title"\n🦜', format: 'füll', data: '{"a":"\\u0000"}\ud83e 語' };
  await slots.save(11, special);
  await slots.save(0, story('First'));
  expect(await slots.titles()).toEqual(['First', ...free.slice(2), special.title]);
  expect(await load(11)).toEqual(special);
  expect(await slotsIn({ path }).load(11)).toEqual(special);
});

test('SaveSlots: writes an object by slot number, as other programs do', async () => {
  const { path, slots } = slotsIn();
  await slots.save(3, story('Third'));
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ file_version: 1, 3: story('Third') });
});

test('SaveSlots: reads a file of another program, and preserves unknown entries', async () => {
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
    file_version: 1,
    0: story('Theirs'),
    12: 'y',
    notes: [1, { a: 2 }],
    '': 3,
    '03': [],
  });
});

test('SaveSlots: leaves a file of a newer version alone', async () => {
  const { path, slots } = slotsIn();
  const content = JSON.stringify({ file_version: 2, 0: story('Later') });
  writeFileSync(path, content);
  await expect(slots.titles()).rejects.toThrow(`${path} is left alone: it was written by a newer version of Parley`);
  await expect(slots.save(0, story('Mine'))).rejects.toThrow('update Parley, or use another file');
  await expect(slots.erase(0)).rejects.toThrow('left alone');
  expect(readFileSync(path, 'utf8')).toBe(content);
});

test('SaveSlots: overwrites and erases a slot', async () => {
  const { slots, load } = slotsIn();
  await slots.save(4, story('Old', 'old'));
  await slots.save(4, story('New', 'new'));
  expect(await load(4)).toEqual(story('New', 'new'));
  await slots.erase(4);
  await slots.erase(5);
  expect([await slots.titles(), await load(4)]).toEqual([free, undefined]);
});

test.each([-1, 12, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('SaveSlots: refuses slot %d', async (slot) => {
  const { slots, load } = slotsIn();
  await expect(slots.save(slot, story('x'))).rejects.toThrow(RangeError);
  expect(await load(slot)).toBeUndefined();
});

test('SaveSlots: limits the length of a story, including title and format', async () => {
  const { slots } = slotsIn({ limits: { characters: 10, bytes: 1000 } });
  await slots.save(0, { title: 'abc', format: 'def', data: '0123' });
  await expect(slots.save(0, { title: 'abc', format: 'def', data: '01234' })).rejects.toBeInstanceOf(StoryTooLong);
  await expect(slots.save(0, { title: '01234567890', format: '', data: 'x' })).rejects.toBeInstanceOf(StoryTooLong);
});

test('SaveSlots: limits the size of all stories together', async () => {
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
])('SaveSlots: renames a file that has %s', async (_, content) => {
  const { path, slots, warnings } = slotsIn();
  writeFileSync(path, content);
  expect(await slots.titles()).toEqual(free);
  await slots.save(0, story('New'));
  const aside = readdirSync(dirname(path)).find((name) => name.includes('damaged')) ?? '';
  expect(readFileSync(join(dirname(path), aside), 'utf8')).toBe(content);
  expect(warnings).toHaveLength(1);
});

test('SaveSlots: stores concurrent saves', async () => {
  const { path, slots } = slotsIn();
  await Promise.all(free.map((_, slot) => slots.save(slot, story(`Story ${slot}`))));
  expect(await slotsIn({ path }).slots.titles()).toEqual(free.map((_, slot) => `Story ${slot}`));
});

const written = async (text: string) => Buffer.concat(await inSlices(jsonBytes(text))).toString();

test('jsonBytes: equals JSON.stringify', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: anyCharacter }), async (text) => {
      expect(await written(text)).toBe(JSON.stringify(text));
    }),
  );
});

test.each([0, 1, 2, 3])('jsonBytes: never splits a surrogate pair (%i before it)', async (before) => {
  const text = 'x'.repeat(before) + '🦜'.repeat(20_000);
  expect(await written(text)).toBe(JSON.stringify(text));
});

test('jsonBytes: escapes a lone surrogate, also at the end of a slice', async () => {
  const text = `${'x'.repeat(16_383)}\ud83e${'y'.repeat(20_000)}\udd9c`;
  expect(await written(text)).toBe(JSON.stringify(text));
});

test('jsonBytes: yields every few thousand characters', () => {
  expect([...jsonBytes('a'.repeat(1_000_000))].length).toBeGreaterThan(50);
});
