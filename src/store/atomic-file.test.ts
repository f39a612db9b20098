import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AtomicFile, type AtomicFileOptions, FileFull } from './atomic-file.ts';
import { freshFolders } from './testing/folder.ts';

const freshFolder = freshFolders();

/** A file with one word per line. */
function words(own: Partial<AtomicFileOptions<readonly string[]>> = {}) {
  const path = own.path ?? join(freshFolder(), 'words.txt');
  const warnings: string[] = [];
  const file = new AtomicFile<readonly string[]>({
    path,
    empty: [],
    maxBytes: 1000,
    decode: (bytes) => {
      const text = bytes.toString();
      if (!text.endsWith('.\n')) throw new Error('it has no end');
      return text.slice(0, -2).split('\n').filter(Boolean);
    },
    encode: (content) => [Buffer.from(content.map((word) => `${word}\n`).join('')), Buffer.from('.\n')],
    warn: (sentence) => warnings.push(sentence),
    now: () => new Date('2026-01-02T03:04:05.678Z'),
    ...own,
  });
  const add = (word: string) => file.change((content) => [...content, word]);
  return { path, file, add, warnings, names: () => readdirSync(dirname(path)).sort() };
}

describe('AtomicFile', () => {
  test('does not exist before the first change, and is read by the next instance', async () => {
    const { path, file, add, names } = words();
    expect(await file.read()).toEqual([]);
    expect(names()).toEqual([]);
    await add('a');
    expect(await add('b')).toEqual(['a', 'b']);
    expect(await words({ path }).file.read()).toEqual(['a', 'b']);
    expect(names()).toEqual(['words.txt']);
  });

  test('applies changes in order', async () => {
    const { path, add } = words();
    const wanted = Array.from({ length: 20 }, (_, index) => `word${index}`);
    await Promise.all(wanted.map(add));
    expect(readFileSync(path, 'utf8')).toBe(`${wanted.join('\n')}\n.\n`);
  });

  test('keeps the changes of several instances, as several processes have them', async () => {
    const { path } = words();
    const wanted = Array.from({ length: 20 }, (_, index) => `word${index}`);
    await Promise.all(wanted.map((word) => words({ path }).add(word)));
    expect((await words({ path }).file.read()).toSorted()).toEqual(wanted.toSorted());
  });

  test('writes nothing if a change returns what it was given', async () => {
    const { file, names } = words();
    expect(await file.change((content) => content)).toEqual([]);
    expect(names()).toEqual([]);
  });

  test('is readable by its owner only, and keeps a changed mode', async () => {
    const { path, add } = words();
    await add('a');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    chmodSync(path, 0o644);
    await add('b');
    expect(statSync(path).mode & 0o777).toBe(0o644);
  });

  test('keeps a link, and replaces its target', async () => {
    const folder = freshFolder();
    const target = join(folder, 'target.txt');
    writeFileSync(target, 'old\n.\n');
    const path = join(folder, 'link.txt');
    symlinkSync(target, path);
    await words({ path }).add('new');
    expect(readFileSync(target, 'utf8')).toBe('old\nnew\n.\n');
    expect(readdirSync(folder).sort()).toEqual(['link.txt', 'target.txt']);
  });

  test('treats an empty file as none', async () => {
    const { path, file, warnings } = words();
    writeFileSync(path, '');
    expect([await file.read(), warnings]).toEqual([[], []]);
  });

  test('reads a file again that another program changed', async () => {
    const { path, file, add } = words();
    await add('ours');
    writeFileSync(path, 'ours\nits\n.\n');
    expect(await file.read()).toEqual(['ours', 'its']);
    writeFileSync(path, 'its alone\n.\n');
    expect(await add('more')).toEqual(['its alone', 'more']);
  });

  test('starts empty after the file was removed', async () => {
    const { path, file, add } = words();
    await add('a');
    await rm(path);
    expect(await file.read()).toEqual([]);
    expect(await add('b')).toEqual(['b']);
  });
});

describe('AtomicFile: damaged file', () => {
  test('is renamed with a warning and never overwritten', async () => {
    const { path, file, add, warnings, names } = words();
    writeFileSync(path, 'half of a fi');
    expect(await file.read()).toEqual([]);
    const aside = `${path}.damaged-2026-01-02T03-04-05-678Z`;
    expect(warnings).toEqual([`${path} is damaged (it has no end). It is kept as ${aside}, and a new one is begun.`]);
    await add('new');
    expect(readFileSync(aside, 'utf8')).toBe('half of a fi');
    expect(readFileSync(path, 'utf8')).toBe('new\n.\n');
    expect(names()).toEqual(['words.txt', basename(aside)]);
  });

  test.each(['half of a fi', ''])('that was read before (%j): its last content is written again', async (text) => {
    const { path, file, add, warnings, names } = words();
    await add('kept');
    writeFileSync(path, text);
    expect(await file.read()).toEqual(['kept']);
    expect(readFileSync(path, 'utf8')).toBe('kept\n.\n');
    expect(warnings).toEqual([expect.stringMatching(/and its last content is written again\.$/)]);
    expect(await words({ path }).file.read()).toEqual(['kept']);
    expect(names()).toHaveLength(2);
  });

  test('gets another name if the name is taken', async () => {
    const { path, file } = words();
    for (const text of ['one', 'two', 'three']) {
      writeFileSync(path, text);
      await file.read();
    }
    const aside = `${path}.damaged-2026-01-02T03-04-05-678Z`;
    const kept = [aside, `${aside}-2`, `${aside}-3`].map((name) => readFileSync(name, 'utf8'));
    expect(kept).toEqual(['one', 'two', 'three']);
  });

  test('is found before a change too', async () => {
    const { path, add, warnings } = words();
    await add('a');
    writeFileSync(path, 'broken meanwhile');
    expect(await add('b')).toEqual(['a', 'b']);
    expect(warnings).toHaveLength(1);
  });
});

describe('AtomicFile: errors', () => {
  test('too large: nothing changes, and the next change works', async () => {
    const { path, file, add } = words({ maxBytes: 10 });
    await add('abcde');
    await expect(add('too much')).rejects.toBeInstanceOf(FileFull);
    expect(await file.read()).toEqual(['abcde']);
    expect(await add('')).toEqual(['abcde', '']);
    expect(readFileSync(path, 'utf8')).toBe('abcde\n\n.\n');
  });

  test('a file above the limit is refused and left unchanged', async () => {
    const { path, file, add, names } = words({ maxBytes: 5 });
    writeFileSync(path, 'much too large\n.\n');
    await expect(file.read()).rejects.toThrow(`${path} is left alone: no more than 0 MB are kept`);
    await expect(add('a')).rejects.toThrow('left alone');
    expect([readFileSync(path, 'utf8'), names()]).toEqual(['much too large\n.\n', ['words.txt']]);
  });

  test('a missing folder is refused, and works once it exists', async () => {
    const folder = join(freshFolder(), 'missing');
    const { file, add } = words({ path: join(folder, 'words.txt') });
    await expect(add('a')).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await file.read()).toEqual([]);
    mkdirSync(folder);
    expect(await add('b')).toEqual(['b']);
  });

  test('a folder of the same name is refused', async () => {
    const path = freshFolder();
    await expect(words({ path }).file.read()).rejects.toThrow(`${path} is no file`);
    expect(existsSync(path)).toBe(true);
  });

  test('a failing change leaves later ones alone', async () => {
    const { file, add } = words();
    const failing = file.change(() => {
      throw new Error('no');
    });
    const after = add('a');
    await expect(failing).rejects.toThrow('no');
    expect(await after).toEqual(['a']);
  });
});

describe('AtomicFile: leftovers of killed processes', () => {
  /** A process id that no system uses. */
  const nobody = 2_147_483_646;

  test.each(['read', 'change'])(
    'are removed before the first %s, except for those of running processes',
    async (use) => {
      const { path, file, add, names } = words();
      const parts = [nobody, process.pid, process.ppid].map((owner) => `${path}.${owner}.part`);
      for (const part of [...parts, `${path}.part`, join(dirname(path), `other.${nobody}.part`)])
        writeFileSync(part, 'x');
      await (use === 'read' ? file.read() : add('a'));
      const left = [`words.txt.${process.ppid}.part`, 'words.txt.part'];
      expect(names().filter((name) => name !== 'words.txt')).toEqual([`other.${nobody}.part`, ...left]);
    },
  );

  test('never block the next write', async () => {
    const { path, add } = words();
    symlinkSync('/nowhere/at/all', `${path}.${process.pid}.part`);
    expect(await add('a')).toEqual(['a']);
    expect(statSync(path).isFile()).toBe(true);
  });
});

test('AtomicFile: the file has the result of all changes in any order', async () => {
  const step = fc.record({ word: fc.string({ maxLength: 12, unit: 'grapheme-ascii' }), fails: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const { path, file } = words({ maxBytes: 60 });
      const made: string[] = [];
      const asked = steps.map(({ word, fails }) => {
        const plain = word.replace(/\s/g, '') || 'x';
        return file
          .change((content) => {
            if (fails) throw new Error('no');
            return [...content, plain];
          })
          .then(
            () => made.push(plain),
            () => undefined,
          );
      });
      await Promise.all(asked);
      expect(await file.read()).toEqual(made);
      expect(await words({ path }).file.read()).toEqual(made);
    }),
    { numRuns: 30 },
  );
});
