import { expect, test } from 'vitest';
import { droppedFiles } from './dropped-files.ts';

const file = (name: string) => ({
  name,
  isFile: true,
  isDirectory: false,
  file: (done: (file: File) => void) => done(new File(['x'], name)),
});
/** As browsers do, its entries are read in parts. */
const folder = (name: string, ...entries: readonly object[]) => ({
  name,
  isFile: false,
  isDirectory: true,
  createReader: () => {
    const rest = [...entries];
    return { readEntries: (done: (some: readonly object[]) => void) => done(rest.splice(0, 2)) };
  },
});
const transfer = (...entries: readonly object[]) =>
  ({ items: entries.map((entry) => ({ webkitGetAsEntry: () => entry })) }) as unknown as DataTransfer;

test('droppedFiles: files are taken as they are', async () => {
  const files = [new File(['x'], 'a.txt')];
  expect(await droppedFiles(files, transfer(file('a.txt')))).toBe(files);
  expect(await droppedFiles(files, null)).toBe(files);
});

test('droppedFiles: folders give their files, at any depth, without hidden ones', async () => {
  const docs = folder(
    'docs',
    file('a.txt'),
    file('.secret'),
    folder('.git', file('config')),
    folder('more', file('b.txt')),
  );
  const found = await droppedFiles([], transfer(docs, file('c.txt')));
  expect(found.map(({ name }) => name)).toEqual(['a.txt', 'b.txt', 'c.txt']);
});

test('droppedFiles: takes no more than 2,000 files', async () => {
  const many = folder('docs', ...Array.from({ length: 2100 }, (_, at) => file(`${at}.txt`)));
  expect(await droppedFiles([], transfer(many))).toHaveLength(2000);
});
