import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { deleteModel, filesOfModel, otherOwner } from './delete-model.ts';
import { withTargetLock } from './download.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-delete-'));
afterAll(() => rmSync(root, { recursive: true }));

/** A models folder with these files, ten bytes each. */
function folderWith(...files: string[]): string {
  const folder = mkdtempSync(join(root, 'models-'));
  for (const name of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), 'x'.repeat(10));
  }
  return folder;
}

describe('deleteModel', () => {
  test('deletes all parts of a split model and their unfinished downloads, whichever part is named', async () => {
    const folder = folderWith(
      'big-00001-of-00002.gguf',
      'big-00002-of-00002.gguf.part',
      'big-00002-of-00002.gguf.part.etag',
      'big-00001-of-00003.gguf',
      'big.gguf',
    );
    const { bytes, files } = await deleteModel(join(folder, 'big-00001-of-00002.gguf'), folder);
    expect([bytes, files.length]).toEqual([30, 3]);
    expect(readdirSync(folder)).toEqual(['big-00001-of-00003.gguf', 'big.gguf']);
  });

  test('in the folder of a repository deletes projector and drafts with the last model, and the folder', async () => {
    const folder = folderWith('a--b/m-Q4_0.gguf', 'a--b/m-Q8_0.gguf', 'a--b/mmproj-F16.gguf', 'a--b/mtp-m.gguf');
    const own = join(folder, 'a--b');
    await deleteModel(join(own, 'm-Q4_0.gguf'), folder);
    expect(readdirSync(own)).toEqual(['m-Q8_0.gguf', 'mmproj-F16.gguf', 'mtp-m.gguf']);
    expect((await deleteModel(join(own, 'm-Q8_0.gguf'), folder)).bytes).toBe(30);
    expect(existsSync(own)).toBe(false);
  });

  test('keeps the projector for a model that is still being downloaded', async () => {
    const folder = folderWith('a--b/m-Q4_0.gguf', 'a--b/m-Q8_0.gguf.part', 'a--b/mmproj-F16.gguf');
    await deleteModel(join(folder, 'a--b', 'm-Q4_0.gguf'), folder);
    expect(readdirSync(join(folder, 'a--b'))).toEqual(['m-Q8_0.gguf.part', 'mmproj-F16.gguf']);
  });

  test('keeps what else is in a folder of the user', async () => {
    const folder = folderWith('mine/m.gguf', 'mine/mmproj.gguf', 'a--b/m.gguf', 'a--b/notes.txt');
    await deleteModel(join(folder, 'mine', 'm.gguf'), folder);
    await deleteModel(join(folder, 'a--b', 'm.gguf'), folder);
    expect(readdirSync(join(folder, 'mine'))).toEqual(['mmproj.gguf']);
    expect(readdirSync(join(folder, 'a--b'))).toEqual(['notes.txt']);
  });

  test("deletes the config and the licence of a model of Ollama's registry with it", async () => {
    const own = 'ollama--library--qwen3';
    const folder = folderWith(
      ...['4b.gguf', '8b.gguf', '8b.kcpps', '8b.license.txt'].map((end) => `${own}/qwen3-${end}`),
    );
    await deleteModel(join(folder, own, 'qwen3-8b.gguf'), folder);
    expect(readdirSync(join(folder, own))).toEqual(['qwen3-4b.gguf']);
  });

  test('deletes a download that was never finished', async () => {
    const folder = folderWith('a--b/m.gguf.part', 'a--b/m.gguf.part.etag');
    expect((await deleteModel(join(folder, 'a--b', 'm.gguf'), folder)).bytes).toBe(20);
    expect(existsSync(join(folder, 'a--b'))).toBe(false);
  });

  test('refuses files outside of the folder, also through links, and files that are no models', async () => {
    const [other, folder] = [folderWith('m.gguf', 'sub/n.gguf'), folderWith('config.kcpps')];
    symlinkSync(join(other, 'm.gguf'), join(folder, 'link.gguf'));
    symlinkSync(join(other, 'sub'), join(folder, 'sub'));
    const refused = (path: string) => expect(deleteModel(path, folder)).rejects;
    await refused(join(other, 'm.gguf')).toThrow(/is not in the models folder/);
    await refused(join(folder, '..', 'm.gguf')).toThrow(/is not in the models folder/);
    await refused(join(folder, 'sub', 'n.gguf')).toThrow(/is not in the models folder/);
    await refused(join(folder, 'link.gguf')).toThrow(/is a link to .*m\.gguf\. Delete it there\.$/);
    await refused(join(folder, 'config.kcpps')).toThrow(/is not a model file/);
    await refused(join(folder, 'none.gguf')).toThrow(/There is no file/);
    expect(readdirSync(other)).toEqual(['m.gguf', 'sub']);
  });

  test('refuses while one of its files is being downloaded, and deletes nothing', async () => {
    const folder = folderWith('m-00001-of-00002.gguf', 'm-00002-of-00002.gguf.part');
    const deletion = withTargetLock(join(folder, 'm-00002-of-00002.gguf'), () =>
      deleteModel(join(folder, 'm-00001-of-00002.gguf'), folder),
    );
    await expect(deletion).rejects.toThrow(/is being downloaded already/);
    expect(readdirSync(folder)).toEqual(['m-00001-of-00002.gguf', 'm-00002-of-00002.gguf.part']);
  });
});

test('filesOfModel: names the files and their size, and deletes nothing', async () => {
  const folder = folderWith('a--b/m.gguf', 'a--b/mmproj.gguf');
  expect((await filesOfModel(join(folder, 'a--b', 'm.gguf'), folder)).bytes).toBe(20);
  expect(readdirSync(join(folder, 'a--b'))).toHaveLength(2);
});

test('otherOwner: says which program has the model and how it is deleted there', () => {
  const of = (program: string, name: string) => otherOwner({ program, name, path: '/models/x' });
  expect(of('Ollama', 'qwen3:8b')).toBe('qwen3:8b belongs to Ollama. Delete it there with: ollama rm qwen3:8b.');
  expect(of('Hugging Face', 'a/b/m-Q4_0')).toContain('hf cache rm model/a/b.');
  expect(of('KoboldCpp', 'm')).toContain('(the file is /models/x).');
});
