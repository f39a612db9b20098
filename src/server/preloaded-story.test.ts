import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freshFolders } from '../store/testing/folder.ts';
import { preloadedStory } from './preloaded-story.ts';

const freshFolder = freshFolders();

function fileWith(content: string | Uint8Array): string {
  const path = join(freshFolder(), 'story.json');
  writeFileSync(path, content);
  return path;
}

test('preloadedStory: serves the bytes of a file, and a literal story as text', () => {
  const text = '\ufeff{ "gamestarted" : true,\n"actions": ["é"] }\n';
  expect(preloadedStory(fileWith(text))).toEqual(Buffer.from(text));
  expect(preloadedStory(' {"a": 1}')).toBe(' {"a": 1}');
  expect(preloadedStory('')).toBeUndefined();
});

test.each([
  ['words', 'Once upon a time', 'is no story, because it is no JSON'],
  ['half of it', '{"a": [1,', 'is no story, because it is no JSON'],
  ['nothing', '', 'is no story, because it is no JSON'],
  ['a list', '[1]', 'is no story: it must hold a JSON object'],
  ['null', 'null', 'is no story: it must hold a JSON object'],
])('preloadedStory: rejects a file with %s', (_, content, reason) => {
  const path = fileWith(content);
  expect(() => preloadedStory(path)).toThrow(`--preloadstory: ${path} ${reason}`);
});

test('preloadedStory: rejects an invalid literal story', () => {
  expect(() => preloadedStory('{"a": ')).toThrow('--preloadstory: the text is no story, because it is no JSON');
});

test('preloadedStory: rejects a missing file, a folder and a file that is too large by name', () => {
  const folder = freshFolder();
  expect(() => preloadedStory(join(folder, 'none.json'))).toThrow(
    /^--preloadstory: .*none\.json cannot be read: ENOENT/,
  );
  expect(() => preloadedStory(folder)).toThrow(/cannot be read: EISDIR/);
  const path = fileWith('{}');
  truncateSync(path, 64 * 2 ** 20 + 1);
  expect(() => preloadedStory(path)).toThrow('cannot be read: it has more than 64 MB.');
});
