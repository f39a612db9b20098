import { expect, test } from 'vitest';
import { jsonFile, type PersonFile } from '../core/person-data.ts';
import { readTar } from '../library/tar.ts';
import { tarOf } from './write-tar.ts';

async function* each(...files: readonly PersonFile[]) {
  yield* files;
}

test('tarOf: a reader of tar finds the files with names of any length and script', async () => {
  const long = `${'folder/'.repeat(40)}Grüße an 母.json`;
  const large = { path: 'large', bytes: 1024, content: () => [Buffer.alloc(512, 1), Buffer.alloc(512, 2)] };
  const read: [string, number][] = [];
  for await (const { name, content } of readTar(tarOf(each(jsonFile(long, 'x'), large, jsonFile('e', {})), 0))) {
    let bytes = 0;
    for await (const piece of content) bytes += piece.length;
    read.push([name, bytes]);
  }
  expect(read).toEqual([
    [long, 4],
    ['large', 1024],
    ['e', 3],
  ]);
});

test.each([3, 5])('tarOf: a file that has %i bytes instead of 4 ends the archive with an error', async (bytes) => {
  const changed = { path: 'changed', bytes: 4, content: () => [Buffer.alloc(bytes)] };
  const read = async () => {
    for await (const _ of tarOf(each(changed), 0));
  };
  await expect(read()).rejects.toThrow('changed was changed');
});

test.each([
  ['images/../../.bashrc', 'images/_/_/.bashrc'],
  ['/etc/passwd', 'etc/passwd'],
  ['images/..\\..\\C:\\x', 'images/_/_/C_/x'],
  ['a\u001b[2J\n./b', 'a_[2J_./b'],
])('tarOf: %j leads nowhere else when it is unpacked', async (path, expected) => {
  const names: string[] = [];
  for await (const { name, content } of readTar(tarOf(each(jsonFile(path, 1)), 0))) {
    names.push(name);
    for await (const _ of content);
  }
  expect(names).toEqual([expected]);
});
