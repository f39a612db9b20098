import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { defaultSettings, type Settings } from '../config/flags.ts';
import { freshFolders } from '../store/testing/folder.ts';
import { openClientServices } from './client-services.ts';

const freshFolder = freshFolders();

async function open(own: Partial<Settings>, folder = join(freshFolder(), 'a', 'stories')) {
  const warnings: string[] = [];
  const services = await openClientServices(
    { ...defaultSettings, ...own },
    { folder, warn: (sentence) => void warnings.push(sentence) },
  );
  return { ...services, folder, warnings };
}

const story = { title: 'A', format: 'f', data: 'd' };

test('openClientServices: without flags nothing is opened or written', async () => {
  const { slots, story: shared, search, folder } = await open({});
  expect([slots, shared, search, existsSync(folder)]).toEqual([undefined, undefined, undefined, false]);
});

describe('openClientServices: save slots', () => {
  test.each(['saves', 'saves.jsondb'])('use the named file, with its extension once (%s)', async (name) => {
    const folder = freshFolder();
    const { slots } = await open({ savedatafile: join(folder, name) });
    expect(readdirSync(folder)).toEqual([]);
    await slots?.of({}).save(0, story);
    expect(readdirSync(folder)).toEqual(['saves.jsondb']);
    expect(
      (await open({ savedatafile: join(folder, 'saves') }).then(({ slots: again }) => again?.of({}).titles()))?.[0],
    ).toBe('A');
  });

  test('a damaged file is reported at once and kept', async () => {
    const folder = freshFolder();
    writeFileSync(join(folder, 'saves.jsondb'), '{"0": {"title"');
    const { warnings } = await open({ savedatafile: join(folder, 'saves') });
    expect(warnings).toEqual([
      expect.stringMatching(/saves\.jsondb is damaged \(.*JSON.*\)\. It is kept as .*damaged-/),
    ]);
    const [aside = ''] = readdirSync(folder);
    expect(readFileSync(join(folder, aside), 'utf8')).toBe('{"0": {"title"');
  });

  test('a missing folder is rejected at the start', async () => {
    const path = join(freshFolder(), 'none', 'saves.jsondb');
    await expect(open({ savedatafile: path })).rejects.toThrow(`--savedatafile: ${path} cannot be used: ENOENT`);
  });

  test('a folder in place of the file is rejected at the start', async () => {
    const path = join(freshFolder(), 'saves.jsondb');
    mkdirSync(path);
    await expect(open({ savedatafile: path })).rejects.toThrow(`cannot be used: ${path} is no file.`);
  });
});

describe('openClientServices: shared story', () => {
  test('is stored in our folder, one file per port', async () => {
    const { story: first, folder } = await open({ multiplayer: true, port: 5001 });
    await first?.update({ story: 'x', format: 'f', full: false });
    const { story: other } = await open({ multiplayer: true, port: 5002 }, folder);
    expect((await other?.turn())?.story).toBe('');
    const { story: again } = await open({ multiplayer: true, port: 5001 }, folder);
    expect(await again?.turn()).toMatchObject({ story: 'x', major: 1, minor: 2 });
    expect(readdirSync(folder)).toEqual(['multiplayer-5001.json']);
  });

  test('is rejected at the start if the folder cannot be written', async () => {
    const file = join(freshFolder(), 'file');
    writeFileSync(file, '');
    await expect(open({ multiplayer: true }, join(file, 'stories'))).rejects.toThrow(
      /^--multiplayer: .* cannot be used: /,
    );
  });
});

describe('openClientServices: libraries of keys', () => {
  const sender = (name: string, shared = false) => ({ key: { name, shared } });

  test('are beside the common files, and names that differ in their case have two', async () => {
    const folder = freshFolder();
    const own = { savedatafile: join(folder, 'saves'), keyfile: 'keys.json' };
    const { slots, records } = await open(own);
    await slots?.of({}).save(0, story);
    for (const name of ['phone', 'Phone']) await slots?.of(sender(name)).save(0, { ...story, title: name });
    await records?.of(sender('phone')).save({ kind: 'chats', id: 'a' }, 0, '{}');
    const again = (await open(own)).slots;
    const titles = [sender('phone'), sender('Phone'), sender('new'), sender('new', true)].map(
      async (one) => (await again?.of(one).titles())?.[0],
    );
    expect(await Promise.all(titles)).toEqual(['phone', 'Phone', '', 'A']);
    expect(readdirSync(folder).sort()).toEqual(['saves.jsondb', 'saves.keys']);
    expect(
      readdirSync(join(folder, 'saves.keys'))
        .map((name) => name.replace(/-[0-9a-f]{8}/, '-#'))
        .sort(),
    ).toEqual([...['phone-#.jsondb', 'phone-#.jsondb', 'phone-#.records']]);
  });
});

test('openClientServices: the search connects only when used', async () => {
  const { search } = await open({ websearch: true, websearchurl: 'http://127.0.0.1:9/' });
  expect(await search?.find('', new AbortController().signal)).toEqual({ pages: [] });
});
