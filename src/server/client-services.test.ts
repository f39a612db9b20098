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

test('nothing is there that was not switched on, and nothing is written', async () => {
  const { slots, story: shared, search, folder } = await open({});
  expect([slots, shared, search, existsSync(folder)]).toEqual([undefined, undefined, undefined, false]);
});

describe('save slots', () => {
  test.each(['saves', 'saves.jsondb'])('are in the file that is named, with its ending once (%s)', async (name) => {
    const folder = freshFolder();
    const { slots } = await open({ savedatafile: join(folder, name) });
    expect(readdirSync(folder)).toEqual([]);
    await slots?.save(0, story);
    expect(readdirSync(folder)).toEqual(['saves.jsondb']);
    expect((await open({ savedatafile: join(folder, 'saves') }).then(({ slots: again }) => again?.titles()))?.[0]).toBe(
      'A',
    );
  });

  test('in a damaged file are told at once, and the file is kept', async () => {
    const folder = freshFolder();
    writeFileSync(join(folder, 'saves.jsondb'), '{"0": {"title"');
    const { warnings } = await open({ savedatafile: join(folder, 'saves') });
    expect(warnings).toEqual([
      expect.stringMatching(/saves\.jsondb is damaged \(.*JSON.*\)\. It is kept as .*damaged-/),
    ]);
    const [aside = ''] = readdirSync(folder);
    expect(readFileSync(join(folder, aside), 'utf8')).toBe('{"0": {"title"');
  });

  test('in a folder that is not there are refused at the start', async () => {
    const path = join(freshFolder(), 'none', 'saves.jsondb');
    await expect(open({ savedatafile: path })).rejects.toThrow(`--savedatafile: ${path} cannot be used: ENOENT`);
  });

  test('in a file that is a folder are refused at the start', async () => {
    const path = join(freshFolder(), 'saves.jsondb');
    mkdirSync(path);
    await expect(open({ savedatafile: path })).rejects.toThrow(`cannot be used: ${path} is no file.`);
  });
});

describe('the story of several people', () => {
  test('is kept in our own folder, one for each port', async () => {
    const { story: first, folder } = await open({ multiplayer: true, port: 5001 });
    await first?.update({ story: 'x', format: 'f', full: false });
    const { story: other } = await open({ multiplayer: true, port: 5002 }, folder);
    expect((await other?.turn())?.story).toBe('');
    const { story: again } = await open({ multiplayer: true, port: 5001 }, folder);
    expect(await again?.turn()).toMatchObject({ story: 'x', major: 1, minor: 2 });
    expect(readdirSync(folder)).toEqual(['multiplayer-5001.json']);
  });

  test('is refused at the start where there is no place for it', async () => {
    const file = join(freshFolder(), 'file');
    writeFileSync(file, '');
    await expect(open({ multiplayer: true }, join(file, 'stories'))).rejects.toThrow(
      /^--multiplayer: .* cannot be used: /,
    );
  });
});

test('a search asks nobody before somebody searches', async () => {
  const { search } = await open({ websearch: true, websearchurl: 'http://127.0.0.1:9/' });
  expect(await search?.find('', new AbortController().signal)).toEqual({ pages: [] });
});
