import { mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { ExtractedDocument } from '../core/documents.ts';
import { AppError } from '../core/errors.ts';
import { freshFolders } from '../store/testing/folder.ts';
import { DocumentStore } from './document-store.ts';
import { readDocument } from './formats/read-document.ts';
import { fileState } from './open-file.ts';
import { CollectionDatabase } from './storage/collection-database.ts';

const freshFolder = freshFolders();
const never = new AbortController().signal;
const model = 'letters';

/** How often each letter is in a text, which is near for texts about the same. */
function letters(text: string): Float32Array {
  const vector = new Float32Array(26);
  for (const letter of text.toLowerCase()) {
    const index = letter.charCodeAt(0) - 97;
    if (index >= 0 && index < 26) vector[index] = (vector[index] ?? 0) + 1;
  }
  return vector;
}

function world(folder = join(freshFolder(), 'documents'), options: { readonly maxFiles?: number } = {}) {
  const warnings: string[] = [];
  const reads: string[] = [];
  const time = { now: 1_800_000_000_000 };
  const hooks: { reading?: (name: string) => void } = {};
  const read = async (name: string, path: string): Promise<ExtractedDocument> => {
    reads.push(name);
    hooks.reading?.(name);
    return readDocument(name, await readFile(path));
  };
  const timer = { restart: () => undefined, cancel: () => undefined };
  const open = () =>
    new DocumentStore({
      folder,
      read,
      now: () => time.now,
      tick: () => 0,
      startTimer: () => timer,
      warn: (sentence) => warnings.push(sentence),
      onWork: () => undefined,
      ...options,
    });
  const store = open();
  const create = (name = 'notes', owner = 'common', embedding = model) =>
    store.create(owner, {
      id: `vs_${name}`,
      name,
      description: '',
      metadata: {},
      createdAt: 1,
      lastActiveAt: 1_800_000_000,
      embedding,
      dimensions: 0,
    });
  const sources = freshFolder();
  const put = (name: string, text: string) => {
    writeFileSync(join(sources, name), text);
    return join(sources, name);
  };
  const row = async (path: string) => ({
    id: `file-${basename(path)}`,
    name: basename(path),
    source: path,
    createdAt: 1,
    ...(await fileState(path)),
  });
  /** One piece of work; whether there was some. */
  const step = async (own = store): Promise<boolean> => {
    const next = own.next(model, 4);
    if (next?.type === 'read') await own.read(next.collection, next.file, model, { vectors: [], signal: never });
    if (next?.type === 'embed') {
      const ids = next.passages.map(({ id }) => id);
      const vectors = next.passages.map(({ text }) => letters(text));
      own.setVectors(next.collection, ids, { vectors, signal: never });
    }
    return next !== undefined;
  };
  const index = async (own = store) => {
    for (let steps = 0; await step(own); steps += 1) if (steps > 1000) expect.fail('the work does not end');
  };
  const search = (query: string, rules = {}, own = store) =>
    own.search(
      ...(['common', ['vs_notes'], [query]] as const),
      { weights: { vector: 0.5, keywords: 0.5 }, limit: 10, ...rules },
      { vectors: [letters(query)], signal: never },
    );
  return { folder, warnings, reads, time, hooks, store, open, create, put, row, step, index, search };
}

describe('DocumentStore', () => {
  test('indexes uploaded files, and finds their passages by words and by vectors', async () => {
    const { store, create, put, row, index, search } = world();
    create();
    const files = [put('zoo.md', '# Zoo\n\nThe zebra lives in Africa.'), put('sea.md', '# Sea\n\nFish swim in water.')];
    const added = store.addFiles('common', 'vs_notes', await Promise.all(files.map(row)));
    expect(added.map(({ status, progress }) => [status, progress])).toEqual([
      ['in_progress', 0],
      ['in_progress', 0],
    ]);
    await index();
    expect(store.files('common', 'vs_notes').map(({ name, status, passages }) => [name, status, passages])).toEqual([
      ['sea.md', 'completed', 1],
      ['zoo.md', 'completed', 1],
    ]);
    const [best] = search('zebras');
    expect(best).toMatchObject({ found: { vector: 1, keywords: 1 } });
    expect(best?.passage).toMatchObject({
      id: 'vs_notes.1',
      collection: 'vs_notes',
      file: 'file-zoo.md',
      name: 'zoo.md',
      headings: ['Zoo'],
      text: expect.stringContaining('The zebra lives in Africa.'),
    });
    const { passage, before } = store.passage('common', 'vs_notes.1') ?? {};
    expect(passage?.text).toBe(best?.passage.text);
    expect(before).toBe('');
    expect(store.text('common', 'vs_notes', 'file-sea.md')).toContain('Fish swim');
    await store.close();
  });

  test('the size of a collection is that of its documents', async () => {
    const { store, create, put, row, index } = world();
    expect(create().bytes).toBe(0);
    store.addFiles('common', 'vs_notes', await Promise.all([put('a.txt', 'Fish.'), put('b.txt', 'Zebras.')].map(row)));
    await index();
    expect(await store.collections('common')).toMatchObject([{ bytes: 12, files: { completed: 2 } }]);
    await store.close();
  });

  test('is readable for the account only, one file for each collection in the folder of its owner', async () => {
    const { folder, store, create } = world();
    create('notes', 'phone-1');
    expect(readdirSync(folder)).toEqual(['phone-1']);
    const names = () => readdirSync(join(folder, 'phone-1')).filter((name) => !name.endsWith('.lock'));
    expect(names()).toContain('vs_notes.collection');
    if (process.platform !== 'win32') {
      expect(statSync(join(folder, 'phone-1')).mode & 0o777).toBe(0o700);
      expect(statSync(join(folder, 'phone-1', 'vs_notes.collection')).mode & 0o777).toBe(0o600);
    }
    await store.delete('phone-1', 'vs_notes');
    expect(names()).toEqual([]);
  });

  test('shows nothing of an owner to another', async () => {
    const { store, create, put, row, index } = world();
    create('notes', 'a');
    store.addFiles('a', 'vs_notes', [await row(put('a.txt', 'Secret'))]);
    await index();
    const refused = { code: 'not-stored' };
    expect(await store.collections('b')).toEqual([]);
    expect(store.passage('b', 'vs_notes.1')).toBeUndefined();
    expect(store.passage('a', 'vs_notes.1')).toBeDefined();
    expect(() => store.text('b', 'vs_notes', 'file-a.txt')).toThrow(expect.objectContaining(refused));
    const rules = { weights: { vector: 1, keywords: 1 }, limit: 1 };
    expect(() => store.search('b', ['vs_notes'], [], rules, { vectors: [], signal: never })).toThrow(AppError);
    await expect(store.delete('b', 'vs_notes')).rejects.toMatchObject(refused);
    await store.close();
  });

  test('goes on in the next process where the last one was killed', async () => {
    const { folder, store, create, put, row, step } = world();
    create();
    const paragraphs = Array.from({ length: 40 }, (_, at) => `# Part ${at}\n\n${`word${at} `.repeat(150)}`).join(
      '\n\n',
    );
    store.addFiles('common', 'vs_notes', [await row(put('long.md', paragraphs)), await row(put('b.md', 'Later.'))]);
    for (let steps = 0; steps < 4; steps += 1) await step();
    const [, long] = store.files('common', 'vs_notes');
    expect(long?.status).toBe('in_progress');
    expect(long?.progress).toBeGreaterThan(0.1);
    // The same file, as a process that was killed has left it: not closed, with a lock of the WebAssembly build.
    const copy = join(freshFolder(), 'documents');
    mkdirSync(join(copy, 'common'), { recursive: true });
    await store.close();
    renameSync(join(folder, 'common', 'vs_notes.collection'), join(copy, 'common', 'vs_notes.collection'));
    mkdirSync(join(copy, 'common', 'vs_notes.collection.lock'));
    const next = world(copy);
    await next.index();
    expect(next.reads).toEqual([]);
    expect(next.store.files('common', 'vs_notes').map(({ status }) => status)).toEqual(['completed', 'completed']);
    expect(next.search('word7')[0]?.passage.text).toContain('word7');
    await next.store.close();
  });

  test('does not count what waits for its vectors before each file', async () => {
    const { store, create, put, row, index, reads } = world();
    create();
    const count = vi.spyOn(CollectionDatabase.prototype, 'countToEmbed');
    const files = Array.from({ length: 30 }, (_, file) => row(put(`${file}.md`, 'A boat.')));
    store.addFiles('common', 'vs_notes', await Promise.all(files));
    await index();
    expect([reads.length, count.mock.calls.length]).toEqual([30, 1]);
    count.mockRestore();
  });

  test('reads a file again only if its content has changed', async () => {
    const { store, create, put, row, index, reads, search } = world();
    create();
    const path = put('a.txt', 'The first text about apples.');
    store.addFiles('common', 'vs_notes', [await row(path)]);
    await index();
    utimesSync(path, 1, 1);
    store.addFiles('common', 'vs_notes', [await row(path)]);
    await index();
    expect(reads).toEqual(['a.txt']);
    expect(store.file('common', 'vs_notes', 'file-a.txt')?.status).toBe('completed');
    put('a.txt', 'The second text about pears.');
    store.addFiles('common', 'vs_notes', [await row(path)]);
    await index();
    expect(reads).toEqual(['a.txt', 'a.txt']);
    expect(search('pears')).toHaveLength(1);
    expect(search('apples', { weights: { vector: 0, keywords: 1 } })).toEqual([]);
    await store.close();
  });

  test('reads a file again that changes while it is read', async () => {
    const { store, create, put, row, index, reads, hooks, search } = world();
    create();
    const path = put('a.txt', 'Half of');
    let changes = 2;
    hooks.reading = () => {
      changes -= 1;
      if (changes >= 0) writeFileSync(path, `Half of the text ${'and more '.repeat(3 - changes)}`);
    };
    store.addFiles('common', 'vs_notes', [await row(path)]);
    await index();
    expect(reads).toHaveLength(3);
    expect(search('more')[0]?.passage.text).toBe('Half of the text and more and more and more');
    await store.close();
  });

  test('a file that changes whenever it is read is indexed as it was read, and keeps no other waiting', async () => {
    const { store, create, put, row, index, reads, hooks, search } = world();
    create();
    const [log, note] = [put('a.log', 'First line.'), put('b.txt', 'A note.')];
    hooks.reading = (name) => {
      if (name === 'a.log') writeFileSync(log, `Line ${'and line '.repeat(reads.length)}`);
    };
    store.addFiles('common', 'vs_notes', await Promise.all([log, note].map(row)));
    await index();
    expect(reads).toEqual(['a.log', 'a.log', 'a.log', 'b.txt']);
    expect(store.files('common', 'vs_notes').map(({ status }) => status)).toEqual(['completed', 'completed']);
    expect(search('line')[0]?.passage.name).toBe('a.log');
    // When it is seen again it is read, even if its content is the one that was hashed before.
    store.addFiles('common', 'vs_notes', [await row(log)]);
    hooks.reading = undefined as never;
    await index();
    expect(reads).toHaveLength(5);
    await store.close();
  });

  test('a file that is to be read again each time keeps no other waiting', async () => {
    const { store, create, put, row, step, reads, hooks } = world();
    create();
    const [log, note] = [put('a.log', 'First line.'), put('b.txt', 'A note.')];
    const rows = await Promise.all([log, note].map(row));
    store.addFiles('common', 'vs_notes', rows);
    hooks.reading = (name) => {
      if (name === 'a.log') store.addFiles('common', 'vs_notes', rows.slice(0, 1));
    };
    for (let steps = 0; steps < 4; steps += 1) await step();
    expect(reads.slice(0, 2)).toEqual(['a.log', 'b.txt']);
    await store.close();
  });

  test('names a file that cannot be read, which costs nothing else', async () => {
    const { store, create, put, row, index } = world();
    create();
    const [broken, gone, good] = [put('a.bin', '\0\u0001\u0002'), put('gone.txt', 'x'), put('good.txt', 'Good.')];
    store.addFiles('common', 'vs_notes', await Promise.all([broken, gone, good].map(row)));
    rmSync(gone);
    await index();
    expect(store.files('common', 'vs_notes').map(({ name, status, error }) => [name, status, error?.code])).toEqual([
      ['good.txt', 'completed', undefined],
      ['gone.txt', 'failed', 'invalid_file'],
      ['a.bin', 'failed', 'unsupported_file'],
    ]);
    await store.close();
  });

  test.runIf(process.platform === 'linux')('a file without an end fails, and keeps no other waiting', async () => {
    const { store, create, put, row, index, reads } = world();
    create();
    // 256 GB on most machines.
    store.addFiles('common', 'vs_notes', await Promise.all(['/proc/self/pagemap', put('b.txt', 'A note.')].map(row)));
    await index();
    expect(store.file('common', 'vs_notes', 'file-pagemap')).toMatchObject({
      status: 'failed',
      error: { code: 'invalid_file', message: 'pagemap cannot be read: it is larger than 256 MB.' },
    });
    expect(store.file('common', 'vs_notes', 'file-b.txt')?.status).toBe('completed');
    expect(reads).toEqual(['b.txt']);
    await store.close();
  });

  test('ends with a full disk, after which the file is still to be read', async () => {
    const { store, create, put, row, index, hooks } = world();
    create();
    store.addFiles('common', 'vs_notes', [await row(put('a.txt', 'Text.'))]);
    hooks.reading = () => {
      throw Object.assign(new Error('database or disk is full'), { code: 'ENOSPC' });
    };
    await expect(index()).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(store.file('common', 'vs_notes', 'file-a.txt')?.status).toBe('in_progress');
    hooks.reading = () => undefined;
    await index();
    expect(store.file('common', 'vs_notes', 'file-a.txt')?.status).toBe('completed');
    await store.close();
  });

  test('with another model searches keywords only, until it is indexed again', async () => {
    const { store, create, put, row, index, search } = world();
    create('notes', 'common', 'another');
    store.addFiles('common', 'vs_notes', [await row(put('a.txt', 'Some apples.'))]);
    await index();
    expect(store.file('common', 'vs_notes', 'file-a.txt')?.status).toBe('completed');
    expect(search('apple')[0]?.found).toEqual({ keywords: 1 });
    store.reindex('common', 'vs_notes', model);
    expect(store.file('common', 'vs_notes', 'file-a.txt')?.status).toBe('in_progress');
    await index();
    expect(search('apple')[0]?.found).toEqual({ keywords: 1, vector: 1 });
    expect((await store.collections('common'))[0]?.embedding).toBe(model);
    await store.close();
  });

  test('removes files, also while they are read, and from every collection', async () => {
    const { store, create, put, row, index, hooks, search } = world();
    create();
    create('second');
    const rows = [await row(put('a.txt', 'Apples.')), await row(put('b.txt', 'Bananas.'))];
    for (const id of ['vs_notes', 'vs_second']) store.addFiles('common', id, rows);
    let removal: Promise<void> | undefined;
    hooks.reading = () => {
      removal ??= store.removeFile('common', 'vs_notes', 'file-a.txt');
    };
    await index();
    await removal;
    expect(store.files('common', 'vs_notes').map(({ name }) => name)).toEqual(['b.txt']);
    expect(search('apples', { weights: { vector: 0, keywords: 1 } })).toEqual([]);
    await store.forgetFile('common', 'file-b.txt');
    expect(store.files('common', 'vs_notes')).toEqual([]);
    expect(store.files('common', 'vs_second').map(({ name }) => name)).toEqual(['a.txt']);
    expect(search('bananas')).toEqual([]);
    expect(store.totals()).toEqual({ collections: 2, files: 1, passages: 1, waiting: 0 });
    await store.close();
  });

  test('cancels files that are not complete', async () => {
    const { store, create, put, row, index } = world();
    create();
    store.addFiles('common', 'vs_notes', [await row(put('a.txt', 'Apples.'))]);
    store.cancel('common', 'vs_notes', ['file-a.txt', 'file-unknown']);
    await index();
    expect(store.file('common', 'vs_notes', 'file-a.txt')?.status).toBe('cancelled');
    store.addFiles('common', 'vs_notes', [await row(put('a.txt', 'Apples.'))]);
    await index();
    expect(store.file('common', 'vs_notes', 'file-a.txt')?.status).toBe('completed');
    await store.close();
  });

  test('searches only files that the filter accepts', async () => {
    const { store, create, put, row, index, search } = world();
    create();
    const rows = await Promise.all(['a', 'b', 'c'].map((name) => row(put(`${name}.txt`, `Apples of ${name}.`))));
    store.addFiles(
      'common',
      'vs_notes',
      rows.map((one, year) => ({ ...one, attributes: { year } })),
    );
    await index();
    const found = search('apples', { filter: { type: 'gte', key: 'year', value: 1 } });
    expect(found.map(({ passage }) => passage.name).sort()).toEqual(['b.txt', 'c.txt']);
    store.setAttributes('common', 'vs_notes', 'file-c.txt', { year: 0 });
    expect(search('apples', { filter: { type: 'gte', key: 'year', value: 1 } })).toHaveLength(1);
    await store.close();
  });

  test('joins neighbours, with the score of the best', async () => {
    const { store, create, put, row, index, search } = world();
    create();
    const text = Array.from({ length: 6 }, (_, at) => `${`apple${at} pear `.repeat(60)}`).join('\n\n');
    store.addFiles('common', 'vs_notes', [await row(put('a.txt', text))]);
    await index();
    const found = search('apple2 apple3 pear').map(({ passage, score, found: by }) => ({ passage, score, found: by }));
    expect(found.length).toBeGreaterThan(3);
    const joined = store.joined('common', found);
    expect(joined.length).toBeLessThan(found.length);
    expect(joined[0]).toMatchObject({ score: found[0]?.score });
    const whole = store.text('common', 'vs_notes', 'file-a.txt');
    for (const { passage } of joined) expect(whole.slice(passage.start, passage.end)).toBe(passage.text);
    await store.close();
  });

  test('deletes a collection that was not used for its days', async () => {
    const { store, create, time } = world();
    create();
    store.update('common', 'vs_notes', { expiresAfterDays: 2 });
    time.now += 86_400_000;
    expect(await store.collections('common')).toHaveLength(1);
    time.now += 2 * 86_400_000;
    expect(await store.collections('common')).toEqual([]);
  });

  test('leaves files alone that it cannot read, and names them', async () => {
    const { folder, store, create, open, warnings } = world();
    create();
    await store.close();
    writeFileSync(join(folder, 'common', 'damaged.collection'), 'no database at all');
    const second = open();
    expect(await second.collections('common')).toHaveLength(1);
    expect(warnings).toEqual([expect.stringMatching(/damaged\.collection is left alone: /)]);
    await second.close();
    const names = readdirSync(join(folder, 'common')).filter((name) => !name.endsWith('.lock'));
    expect(names.sort()).toEqual(['damaged.collection', 'vs_notes.collection']);
  });
});

describe('DocumentStore: watched folder', () => {
  const rules = { include: [], exclude: [], maxFileBytes: 1000 };

  function watched(options: { readonly maxFiles?: number } = {}) {
    const own = world(undefined, options);
    own.create();
    const path = join(freshFolder(), 'folder');
    mkdirSync(join(path, 'deep'), { recursive: true });
    const write = (name: string, text: string) => writeFileSync(join(path, name), text);
    const add = async (folder = {}) => {
      await own.store.addFolder('common', 'vs_notes', { path, ...rules, ...folder });
      await own.store.scanned();
      await own.index();
    };
    const names = () =>
      own.store
        .files('common', 'vs_notes')
        .map((file) => file.path)
        .sort();
    const note = async () => (await own.store.collections('common'))[0]?.folders[0]?.note;
    return { ...own, path, write, add, names, note };
  }

  test('indexes its files by the rules, and neither links nor hidden, large and textless ones', async () => {
    const { path, write, add, names, note, search, store } = watched();
    write('a.md', 'Apples.');
    write('deep/b.txt', 'Bananas.');
    write('deep/large.txt', 'x'.repeat(2000));
    write('.hidden', 'secret');
    write('image.png', 'png');
    const outside = join(freshFolder(), 'outside.txt');
    writeFileSync(outside, 'Outside.');
    symlinkSync(outside, join(path, 'link.txt'));
    symlinkSync(join(outside, '..'), join(path, 'links'));
    await add();
    expect(names()).toEqual(['a.md', 'deep/b.txt']);
    expect(await note()).toBe('1 file is too large.');
    expect(search('bananas')[0]?.passage.name).toBe('deep/b.txt');
    await add({ include: ['*.txt'] });
    expect(names()).toEqual(['deep/b.txt']);
    await add({ exclude: ['deep/**'] });
    expect(names()).toEqual(['a.md']);
    await store.removeFolder('common', 'vs_notes', path);
    expect(names()).toEqual([]);
    await store.close();
  });

  test('a collection takes no more files of its folders together than it may have, and says how many are left out', async () => {
    const { write, add, names, note, store } = watched({ maxFiles: 3 });
    for (const name of ['a.md', 'b.md', 'deep/c.md', 'deep/d.md', 'deep/e.md']) write(name, name);
    await add();
    expect(names()).toHaveLength(3);
    expect(await note()).toBe('2 files are left out: a collection has at most 3.');
    const more = [{ id: 'file-x', name: 'x', source: '/x', bytes: 1, modified: 1, createdAt: 1 }];
    expect(() => store.addFiles('common', 'vs_notes', more)).toThrow('at most 3 files');
    // Changed ones need no more room.
    write('a.md', 'It is longer now.');
    await store.scan();
    expect([names().length, await note()]).toEqual([3, '2 files are left out: a collection has at most 3.']);
  });

  test('is scanned again: changed files are read again, unchanged ones not, and removed ones are gone', async () => {
    const { path, write, add, names, reads, search, store } = watched();
    for (const name of ['a', 'b', 'c']) write(`${name}.txt`, `Text of ${name}.`);
    await add();
    expect(reads.sort()).toEqual(['a.txt', 'b.txt', 'c.txt']);
    reads.length = 0;
    write('b.txt', 'Another text.');
    rmSync(join(path, 'c.txt'));
    await add();
    expect(reads).toEqual(['b.txt']);
    expect(names()).toEqual(['a.txt', 'b.txt']);
    expect(search('another')[0]?.passage.name).toBe('b.txt');
    await store.close();
  });

  test('that is not there any more keeps what is indexed of it, and says so', async () => {
    const { path, write, add, names, note, store } = watched();
    write('a.txt', 'Text.');
    await add();
    rmSync(path, { recursive: true });
    await store.scan();
    expect(names()).toEqual(['a.txt']);
    expect(await note()).toBe('The folder is not there.');
    await expect(add()).rejects.toMatchObject({ code: 'invalid-field' });
    await store.close();
  });

  test('an empty folder in the place of the one that was indexed may be that of a drive, whose files stay', async () => {
    const { path, write, add, names, note, store } = watched();
    write('a.txt', 'Text.');
    write('deep/b.txt', 'Text.');
    await add();
    renameSync(path, `${path}-drive`);
    mkdirSync(path);
    for (let scans = 0; scans < 2; scans += 1) {
      await store.scan();
      expect(names()).toEqual(['a.txt', 'deep/b.txt']);
      expect(await note()).toMatch(
        /^The folder is empty, and is not the folder that was indexed: its drive may not be/,
      );
    }
    // Rules are followed all the same.
    await add({ exclude: ['deep/'] });
    expect(names()).toEqual(['a.txt']);
    rmSync(path, { recursive: true });
    renameSync(`${path}-drive`, path);
    await add();
    expect([names(), await note()]).toEqual([['a.txt', 'deep/b.txt'], undefined]);
    await store.close();
  });

  test('a folder that was emptied has no files any more, and one that was replaced only its new ones', async () => {
    const { path, write, add, names, note, store } = watched();
    write('a.txt', 'Text.');
    await add();
    rmSync(join(path, 'a.txt'));
    await store.scan();
    expect([names(), await note()]).toEqual([[], undefined]);
    write('b.txt', 'Text.');
    await store.scan();
    renameSync(path, `${path}-old`);
    mkdirSync(path);
    write('c.txt', 'Text.');
    await store.scan();
    expect(names()).toEqual(['c.txt']);
    await store.close();
  });

  test('a file of it is not removed by itself, but with the folder', async () => {
    const { path, write, add, names, store } = watched();
    write('deep/a.txt', 'Text.');
    await add();
    const [file] = store.files('common', 'vs_notes');
    await expect(store.removeFile('common', 'vs_notes', file?.id ?? '')).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(/^Removing deep\/a\.txt is not possible: its folder is watched; delete it there,/),
    });
    expect(names()).toEqual(['deep/a.txt']);
    await store.removeFolder('common', 'vs_notes', path);
    expect(names()).toEqual([]);
    await store.close();
  });

  test('a file that has become larger than the folder allows is not read', async () => {
    const { path, write, store, index, reads } = watched();
    write('a.txt', 'Text.');
    await store.addFolder('common', 'vs_notes', { path, ...rules });
    await store.scanned();
    write('a.txt', 'x'.repeat(2000));
    await index();
    expect(store.files('common', 'vs_notes')).toMatchObject([
      { status: 'failed', error: { message: 'a.txt cannot be read: it is larger than 1000 bytes.' } },
    ]);
    expect(reads).toEqual([]);
    await store.close();
  });

  test('a file that has become a link is not read', async () => {
    const { path, write, names, store, index } = watched();
    write('a.txt', 'Text.');
    write('b.txt', 'Text.');
    await store.addFolder('common', 'vs_notes', { path, ...rules });
    await store.scanned();
    const outside = join(freshFolder(), 'outside.txt');
    writeFileSync(outside, 'Secret.');
    rmSync(join(path, 'a.txt'));
    symlinkSync(outside, join(path, 'a.txt'));
    await index();
    expect(names()).toEqual(['b.txt']);
    await store.close();
  });
});
