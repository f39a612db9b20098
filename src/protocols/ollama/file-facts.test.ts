import { expect, test } from 'vitest';
import { FileFacts } from './file-facts.ts';
import { file } from './testing/parts.ts';

function world(read: (path: string) => Promise<typeof file> = async () => file) {
  const asked: string[] = [];
  let now = 1_000_000;
  const facts = new FileFacts({
    read: (path) => {
      asked.push(path);
      return read(path);
    },
    now: () => now,
  });
  const pass = (milliseconds: number) => {
    now += milliseconds;
  };
  return { facts, asked, pass };
}

test('a file is read once for many lists, also for those that ask while it is read', async () => {
  const { facts, asked, pass } = world();
  expect(await Promise.all([facts.of('/a.gguf'), facts.of('/a.gguf')])).toEqual([file, file]);
  pass(29_999);
  expect(await facts.of('/a.gguf')).toBe(file);
  expect(asked).toEqual(['/a.gguf']);
});

test('after a while it is read again: it may have been replaced', async () => {
  const { facts, asked, pass } = world();
  await facts.of('/a.gguf');
  pass(30_000);
  await facts.of('/a.gguf');
  expect(asked).toEqual(['/a.gguf', '/a.gguf']);
});

test('each file has its own facts', async () => {
  const { facts, asked } = world();
  await Promise.all([facts.of('/a.gguf'), facts.of('/b.gguf')]);
  expect(asked).toEqual(['/a.gguf', '/b.gguf']);
});

test('one that cannot be read has none, and keeps nobody from asking again later', async () => {
  let broken = true;
  const { facts, pass } = world(async () => {
    if (broken) throw new Error('no such file');
    return file;
  });
  expect(await facts.of('/a.gguf')).toBeUndefined();
  broken = false;
  pass(30_000);
  expect(await facts.of('/a.gguf')).toBe(file);
});
