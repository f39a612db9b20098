import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MemoryStore } from '../../store/memories.ts';
import { freshFolders } from '../../store/testing/folder.ts';
import { memoryTools } from './tools.ts';

const folder = freshFolders();

function tools({ asFiles = false, character }: { asFiles?: boolean; character?: string } = {}) {
  let ids = 0;
  let time = 0;
  const library = new MemoryStore({
    path: join(folder(), 'common.json'),
    warn: () => undefined,
    now: () => new Date(1000 * time++),
    newId: () => `m${++ids}`,
  });
  const served = memoryTools({ library, asFiles, character });
  const call = async (name: string, args: Readonly<Record<string, unknown>>) => {
    const { content, isError } = await served.call({ name, arguments: args }, { signal: new AbortController().signal });
    const [part] = content as readonly { text: string }[];
    return isError ? { error: part?.text } : part?.text;
  };
  const memory = (command: string, args: Readonly<Record<string, unknown>> = {}) =>
    call('memory', { command, ...args });
  const texts = async () => (await library.list()).map(({ text }) => text).toSorted();
  return { served, library, call, memory, texts };
}

test('remember: keeps a fact for the character of the chat; forget: deletes it by its words', async () => {
  const { call, library, texts } = tools({ character: 'Ada' });
  expect(await call('remember', { fact: 'Has a dog called Rex.' })).toBe('Remembered: Has a dog called Rex.');
  expect((await library.list())[0]).toMatchObject({ character: 'Ada' });
  expect(await call('forget', { fact: 'the cat' })).toEqual({ error: 'This is not remembered.' });
  expect(await call('forget', { fact: 'a dog called rex' })).toBe('Forgotten: Has a dog called Rex.');
  expect(await texts()).toEqual([]);
});

test('forget: deletes nothing if several facts are meant', async () => {
  const { call, texts } = tools();
  await call('remember', { fact: 'Rex is a dog.' });
  await call('remember', { fact: 'Rex is old.' });
  expect(await call('forget', { fact: 'Rex' })).toMatchObject({ error: expect.stringContaining('Several facts') });
  expect(await texts()).toHaveLength(2);
});

test('remember: arguments that are no text are an error for the model', async () => {
  const { call } = tools();
  expect(await call('remember', {})).toEqual({ error: '`fact` must be a text.' });
  await expect(call('other', { fact: 'x' })).rejects.toThrow('no tool other');
});

test('memory tool: lists files with their sizes, and the lines of one', async () => {
  const { memory, library } = tools({ asFiles: true });
  expect(await memory('view', { path: '/memories' })).toMatch(/node_modules:\n0B\t\/memories$/);
  await library.add({ text: 'Likes tea.' });
  await library.add({ text: 'Has a dog.' });
  await library.add({ text: 'Is shy.', character: 'Ada' });
  expect(await memory('view', { path: '/memories/' })).toMatch(
    /\n28B\t\/memories\n21B\t\/memories\/facts\.md\n7B\t\/memories\/Ada\.md$/,
  );
  const head = "Here's the content of /memories/facts.md with line numbers:\n";
  expect(await memory('view', { path: '/memories/facts.md' })).toBe(`${head}     1\tLikes tea.\n     2\tHas a dog.`);
  expect(await memory('view', { path: '/memories/facts.md', view_range: [2, -1] })).toBe(`${head}     2\tHas a dog.`);
});

test('memory tool: creates, edits, inserts, renames and deletes the same memories', async () => {
  const { memory, library, texts } = tools({ asFiles: true });
  const path = '/memories/facts.md';
  expect(await memory('create', { path, file_text: '- Likes tea.\n\n- Has a dog.\n' })).toBe(
    'File created successfully at: /memories/facts.md',
  );
  const [before] = (await library.list()).filter(({ text }) => text === 'Likes tea.');
  expect(await memory('str_replace', { path, old_str: 'tea', new_str: 'coffee' })).toContain('     1\tLikes coffee.');
  expect((await library.list()).find(({ id }) => id === before?.id)?.text).toBe('Likes coffee.');
  expect(await memory('insert', { path, insert_line: 0, insert_text: 'Is called Ann.' })).toContain('has been edited');
  expect(await texts()).toEqual(['Has a dog.', 'Is called Ann.', 'Likes coffee.']);
  expect(await memory('rename', { old_path: path, new_path: '/memories/Ada.md' })).toContain('Successfully renamed');
  expect((await library.list()).map(({ character }) => character)).toEqual(['Ada', 'Ada', 'Ada']);
  expect(await memory('delete', { path: '/memories/Ada.md' })).toBe('Successfully deleted /memories/Ada.md');
  expect(await texts()).toEqual([]);
});

test.each<[string, Readonly<Record<string, unknown>>, string]>([
  ['view', { path: '/memories/none.md' }, 'The path /memories/none.md does not exist. Please provide a valid path.'],
  ['delete', { path: '/memories/none.md' }, 'The path /memories/none.md does not exist'],
  ['create', { path: '/memories/facts.md', file_text: 'x' }, 'File /memories/facts.md already exists'],
  ['str_replace', { path: '/memories/facts.md', old_str: 'zebra', new_str: '' }, 'did not appear verbatim'],
  ['str_replace', { path: '/memories/facts.md', old_str: 'a', new_str: '' }, 'Multiple occurrences'],
  ['insert', { path: '/memories/facts.md', insert_line: 9, insert_text: 'x' }, 'Invalid `insert_line` parameter: 9'],
  ['delete', { path: '/memories' }, 'cannot be deleted'],
  ['view', { path: '/etc/passwd' }, 'Path must be a file in /memories'],
  ['view', { path: '/memories/../etc/passwd' }, 'Path must be a file in /memories'],
  ['view', { path: '/memories/%2e%2e' }, 'Path must be a file in /memories'],
  ['view', { path: '/memoriesX' }, 'Path must be a file in /memories'],
  ['view', {}, '`path` must be a text.'],
  ['fly', {}, '`command` must be'],
])('memory tool: %s %j is refused with a sentence', async (command, args, reason) => {
  const { memory, library } = tools({ asFiles: true });
  await library.add({ text: 'a banana' });
  expect(await memory(command, args)).toEqual({ error: expect.stringContaining(reason) });
});

test('memory tool: is offered instead of remember and forget', async () => {
  const names = async (asFiles: boolean) => (await tools({ asFiles }).served.list()).map(({ name }) => name);
  expect(await names(true)).toEqual(['memory']);
  expect(await names(false)).toEqual(['remember', 'forget']);
});
