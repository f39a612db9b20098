import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Libraries } from '../../core/owner.ts';
import { router } from '../../http/router.ts';
import { SaveSlots } from '../../store/save-slots.ts';
import { freshFolders } from '../../store/testing/folder.ts';
import { callOf } from '../testing/doubles.ts';
import { type StoryContext, saveSlotEndpoints } from './stories.ts';

const freshFolder = freshFolders();

function saves(limits = { characters: 200, bytes: 500 }) {
  const path = join(freshFolder(), 'saves.jsondb');
  const warnings: string[] = [];
  const warn = (sentence: string) => void warnings.push(sentence);
  const parse = async (bytes: Buffer) => JSON.parse(bytes.toString());
  const slots = new SaveSlots({ path, parse, warn, now: () => new Date(0), limits });
  return { path, warnings, ask: asking({ slots: new Libraries(() => slots), warn }) };
}

function asking(parts: StoryContext) {
  const endpoints = router(saveSlotEndpoints(parts));
  return async (what: 'list' | 'load' | 'save', body: unknown = '') => {
    const path = `/api/extra/data/${what}`;
    const reply = await endpoints.find('POST', path)?.handle(callOf(path, body), undefined);
    if (!reply || !('body' in reply)) throw new Error('no whole reply');
    expect(reply.headers).toMatchObject({ 'content-type': 'application/json' });
    return [reply.status, JSON.parse(Buffer.from(reply.body).toString())];
  };
}

const story = { title: 'My story', format: 'kcpp_lzma_b64', data: 'XQAAAQ==' };
const free = Array<string>(12).fill('');
const failed = (error: string) => [400, { success: false, error }];

describe('save slots', () => {
  test('list, load and overwrite stories', async () => {
    const { ask } = saves();
    expect(await ask('list')).toEqual([200, free]);
    expect(await ask('save', { slot: 3, ...story })).toEqual([200, { success: true, error: '' }]);
    expect(await ask('list', 'whatever')).toEqual([200, [...free.slice(0, 3), 'My story', ...free.slice(4)]]);
    expect(await ask('load', { slot: 3 })).toEqual([200, { success: true, data: story }]);
    await ask('save', { slot: '3', ...story, title: '' });
    expect(await ask('load', { slot: '3' })).toEqual([
      200,
      { success: true, data: { ...story, title: 'Untitled Save' } },
    ]);
  });

  test('empty data erase a story', async () => {
    const { ask } = saves();
    await ask('save', { slot: 0, ...story });
    expect(await ask('save', { slot: 0, data: '' })).toEqual([200, { success: true, error: '' }]);
    expect(await ask('load', { slot: 0 })).toEqual([200, { success: false, data: null }]);
    expect(await ask('list')).toEqual([200, free]);
  });

  test.each([{ slot: 1 }, { slot: -1 }, { slot: 12 }, { slot: 'x' }, {}, { slot: null }])(
    'slot %j does not exist',
    async (body) => {
      expect(await saves().ask('load', body)).toEqual([200, { success: false, data: null }]);
    },
  );

  test.each(['', '{', '[]', '"x"'])('load: refuses %j', async (body) => {
    expect(await saves().ask('load', body)).toEqual([400, { success: false, data: null }]);
  });
});

describe('save: refuses', () => {
  test.each<[string, unknown, string]>([
    ['without a body', '', 'No story submitted or invalid slot!'],
    ['without data', { slot: 1, title: 'a' }, 'No story submitted or invalid slot!'],
    ['without a slot', story, 'No story submitted or invalid slot!'],
    ['in a slot beyond the last', { ...story, slot: 12 }, 'No story submitted or invalid slot!'],
    ['between two slots', { ...story, slot: 1.5 }, 'No story submitted or invalid slot!'],
    ['in a slot that is no number', { ...story, slot: [1] }, 'No story submitted or invalid slot!'],
    ['from broken JSON', '{"slot": 1', 'Submitted story invalid!'],
    ['from a list', [], 'Submitted story invalid!'],
    ['with data that are no text', { ...story, slot: 1, data: { a: 1 } }, 'Submitted story invalid!'],
    ['with a title that is no text', { ...story, slot: 1, title: 5 }, 'Submitted story invalid!'],
    ['when it is too long', { ...story, slot: 1, data: 'x'.repeat(200) }, 'Story is too long!'],
  ])('%s', async (_, body, error) => {
    const { ask } = saves();
    expect(await ask('save', body)).toEqual(failed(error));
    expect(await ask('list')).toEqual([200, free]);
  });

  test('if the file is full, until a slot is erased', async () => {
    const { ask } = saves();
    const long = { ...story, data: 'x'.repeat(150) };
    await ask('save', { ...long, slot: 0 });
    await ask('save', { ...long, slot: 1 });
    const full = 'The save file is full: no more than 0 MB are kept. Erase another slot first.';
    expect(await ask('save', { ...long, slot: 2 })).toEqual(failed(full));
    await ask('save', { slot: 0, data: '' });
    expect(await ask('save', { ...long, slot: 2 })).toEqual([200, { success: true, error: '' }]);
  });

  test('if the folder is gone', async () => {
    const { path, ask } = saves();
    rmSync(dirname(path), { recursive: true });
    expect(await ask('save', { ...story, slot: 1 })).toEqual(failed('SaveDataFile is missing!'));
  });

  test('if the disk fails, logs it once and keeps the old story', async () => {
    const { path, warnings, ask } = saves();
    await ask('save', { ...story, slot: 1 });
    const before = readFileSync(path, 'utf8');
    // A file in place of the folder stands for a disk that takes nothing: who runs this may be allowed to write anywhere else.
    rmSync(path);
    rmSync(dirname(path), { recursive: true });
    writeFileSync(dirname(path), before);
    const [status, body] = await ask('save', { ...story, slot: 2 });
    expect([status, body.success, body.error]).toEqual([500, false, expect.stringContaining('ENOTDIR')]);
    expect((await ask('save', { ...story, slot: 2 }))[0]).toBe(500);
    expect(warnings).toEqual([body.error]);
    expect(readFileSync(dirname(path), 'utf8')).toBe(before);
  });
});

test('save slots: every path has its reply without --savedatafile', async () => {
  const ask = asking({ warn: () => undefined });
  expect(await ask('list')).toEqual([200, []]);
  expect(await ask('load', { slot: 0 })).toEqual([200, { success: false, data: null }]);
  expect(await ask('save', { slot: 0, ...story })).toEqual(failed('SaveDataFile not enabled!'));
});

test('save slots: no path is queued', () => {
  for (const endpoint of saveSlotEndpoints({ warn: () => undefined })) {
    expect(endpoint).toMatchObject({ method: 'POST', match: 'ending', queued: false });
  }
});
