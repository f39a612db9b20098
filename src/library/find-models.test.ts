import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { findModels, modelName, weightsOf } from './find-models.ts';
import { modelsNamed } from './model-facts.ts';
import { knownModelFolders, type Layout, type ModelFolder } from './model-folders.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-library-'));
afterAll(() => rmSync(root, { recursive: true }));

/** A folder with these files in it. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(root, 'place-'));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}
const place = (folder: string, layout: Layout = 'files', program = 'Somebody'): ModelFolder => ({
  program,
  folder,
  layout,
});
const names = async (...modelFolders: ModelFolder[]) => (await findModels(modelFolders)).map(({ name }) => name);
const digest = 'ab'.repeat(32);
const manifest = (hash: string) =>
  JSON.stringify({
    layers: [
      { mediaType: 'application/vnd.ollama.image.template', digest: `sha256:${'00'.repeat(32)}` },
      { mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${hash}` },
    ],
  });

describe('findModels: plain folders', () => {
  test('finds files in nested folders by their extension', async () => {
    const folder = folderWith({
      'a.gguf': 'x',
      'owner/repo/B.GGUF': 'x',
      'owner/readme.md': 'x',
      '.hidden/c.gguf': 'x',
    });
    expect(await names(place(folder))).toEqual(['a', 'B']);
  });

  test('lists a split model once, and no projectors, draft heads, importance matrices or empty files', async () => {
    const folder = folderWith({
      'big-00001-of-00003.gguf': 'x',
      'big-00002-of-00003.gguf': 'x',
      'big-00003-of-00003.gguf': 'x',
      'mmproj-model.gguf': 'x',
      'vision.mmproj-f16.gguf': 'x',
      'mtp-model.gguf': 'x',
      'imatrix-model.gguf': 'x',
      'empty.gguf': '',
    });
    expect(await names(place(folder))).toEqual(['big-00001-of-00003']);
  });

  test("names models of Ollama's registry as Ollama does", async () => {
    const folder = folderWith({
      'ollama--library--qwen3/qwen3-8b.gguf': 'x',
      'ollama--library--qwen3/qwen3-latest.gguf': 'x',
      'ollama--library--qwen3/mmproj-qwen3-8b.gguf': 'x',
      'ollama--reg.example_5000--owner--x/x-q4.gguf': 'x',
    });
    expect(await names(place(folder))).toEqual(['qwen3:8b', 'qwen3', 'reg.example:5000/owner/x:q4']);
  });

  test('a missing folder has no models', async () => {
    expect(await names(place(join(root, 'nowhere')))).toEqual([]);
  });

  test('lists a file of several folders once', async () => {
    const folder = folderWith({ 'a.gguf': 'x' });
    const other = folderWith({});
    symlinkSync(join(folder, 'a.gguf'), join(other, 'alias.gguf'));
    symlinkSync(join(folder, 'gone.gguf'), join(other, 'broken.gguf'));
    expect(await names(place(folder), place(other), place(folder))).toEqual(['a']);
  });
});

describe('findModels: Ollama store', () => {
  test('takes names from the manifests, with the hash of the weights', async () => {
    const folder = folderWith({
      'manifests/registry.ollama.ai/library/llama3.2/latest': manifest(digest),
      'manifests/registry.ollama.ai/library/qwen/0.5b': manifest('cd'.repeat(32)),
      [`blobs/sha256-${digest}`]: 'weights',
    });
    // The weights of the second one are missing.
    expect(await findModels([place(folder, 'ollama', 'Ollama')])).toEqual([
      { name: 'llama3.2', path: join(folder, 'blobs', `sha256-${digest}`), program: 'Ollama', sha256: digest },
    ]);
  });

  test.each([
    ['registry.ollama.ai/library/llama3.2/latest', 'llama3.2'],
    ['registry.ollama.ai/library/llama3.2/1b', 'llama3.2:1b'],
    ['registry.ollama.ai/somebody/thing/q4', 'somebody/thing:q4'],
    ['hf.co/owner/repo/Q4_K_M', 'hf.co/owner/repo:Q4_K_M'],
  ])('modelName: %s is %s', (path, expected) => {
    expect(modelName(join(...path.split('/')))).toBe(expected);
  });

  test.each([
    '',
    'not json',
    '{}',
    '{"layers":[]}',
    '{"layers":[{"mediaType":"application/vnd.ollama.image.model"}]}',
    manifest('../../etc'),
  ])('weightsOf: undefined for the manifest %j', (text) => {
    expect(weightsOf(text)).toBeUndefined();
  });
});

test('findModels: names files of the Hugging Face cache by repository, with their hash', async () => {
  const folder = folderWith({
    [`models--owner--some-model/blobs/${digest}`]: 'weights',
    'other/snapshots/r/x.gguf': 'x',
  });
  const snapshot = join(folder, 'models--owner--some-model', 'snapshots', 'abc');
  mkdirSync(snapshot, { recursive: true });
  symlinkSync(join('..', '..', 'blobs', digest), join(snapshot, 'model-q4.gguf'));
  expect(await findModels([place(folder, 'hugging-face', 'Hugging Face')])).toEqual([
    {
      name: 'owner/some-model/model-q4',
      repository: { id: 'owner/some-model', folder: snapshot },
      path: join(snapshot, 'model-q4.gguf'),
      program: 'Hugging Face',
      sha256: digest,
    },
  ]);
});

test('findModels: names models of Jan by the folder of their model.yml, which may name another file', async () => {
  const data = folderWith({
    'llamacpp/models/acme/Foo-Q4/model.yml':
      'name: Foo\nmodel_path: llamacpp/models/acme/Foo-Q4/model.gguf\nsize_bytes: 1',
    'llamacpp/models/acme/Foo-Q4/model.gguf': 'x',
    'llamacpp/models/acme/Foo-Q4/mmproj.gguf': 'x',
    'llamacpp/models/acme/Foo-Q4/mtp.gguf': 'x',
    'llamacpp/models/moved/model.yml': 'model_path: "elsewhere/b c.gguf"',
    'llamacpp/models/gone/model.yml': 'model_path: elsewhere/gone.gguf',
    'llamacpp/models/secret/model.yml': 'model_path: /etc/passwd',
    'llamacpp/models/plain/own.gguf': 'x',
    'elsewhere/b c.gguf': 'x',
  });
  expect(await findModels([place(join(data, 'llamacpp', 'models'), 'jan', 'Jan')])).toEqual([
    {
      name: 'acme/Foo-Q4',
      path: join(data, 'llamacpp', 'models', 'acme', 'Foo-Q4', 'model.gguf'),
      program: 'Jan',
    },
    { name: 'moved', path: join(data, 'elsewhere', 'b c.gguf'), program: 'Jan' },
    { name: 'own', path: join(data, 'llamacpp', 'models', 'plain', 'own.gguf'), program: 'Jan' },
  ]);
});

test('findModels: the cache of llama.cpp has the layout of the hub or plain files', async () => {
  const folder = folderWith({ 'models--acme--foo/snapshots/abc/foo.gguf': 'x', 'acme_bar_bar.gguf': 'x' });
  expect(await names(place(folder, 'hugging-face', 'llama.cpp'), place(folder, 'files', 'llama.cpp'))).toEqual([
    'acme/foo/foo',
    'acme_bar_bar',
  ]);
});

describe('knownModelFolders', () => {
  const linux = { home: '/home/p', platform: 'linux', environment: {} };

  test('our folder is first and configurable', () => {
    expect(knownModelFolders(linux)[0]).toEqual({
      program: 'Parley',
      folder: '/home/p/.local/share/parley/models',
      layout: 'files',
    });
    expect(knownModelFolders({ ...linux, environment: { PARLEY_HOME: '/data' } })[0]?.folder).toBe('/data/models');
  });

  test('respects the environment variables of other programs', () => {
    const environment = { OLLAMA_MODELS: '/o', HF_HOME: '/hf', LLAMA_CACHE: '/l' };
    const folders = knownModelFolders({ ...linux, environment }).map(({ folder }) => folder);
    expect(folders).toEqual(expect.arrayContaining(['/o', join('/hf', 'hub'), '/l']));
    expect(folders).not.toContain('/usr/share/ollama/.ollama/models');
  });

  test('HUGGINGFACE_HUB_CACHE, JAN_DATA_FOLDER, and the folders that the settings of other programs name', () => {
    const texts: Record<string, string> = {
      [join('/home/p', '.lmstudio-home-pointer')]: '/lm\n',
      [join('/lm', 'settings.json')]: '{"downloadsFolder":"/disk/lm-models"}',
      [join('/home/p/.local/share', 'jan.ai.app', 'settings.json')]: '{"data_folder":"/disk/jan"}',
    };
    const foldersOf = (environment: Record<string, string>) =>
      knownModelFolders({ ...linux, environment }, (path) => texts[path]).map(({ folder }) => folder);
    const folders = foldersOf({ HUGGINGFACE_HUB_CACHE: '/hub' });
    expect(folders).toEqual(
      expect.arrayContaining(['/hub', '/disk/lm-models', join('/disk/jan', 'llamacpp', 'models')]),
    );
    expect(foldersOf({ JAN_DATA_FOLDER: '/jan' })).toContain(join('/jan', 'llamacpp', 'models'));
  });

  test.each(['', 'no JSON', '[]', '{"downloadsFolder":7}'])('settings that cannot be read are ignored: %j', (text) => {
    const folders = knownModelFolders(linux, (path) => (path.endsWith('settings.json') ? text : undefined)).map(
      ({ folder }) => folder,
    );
    expect(folders).toContain(join('/home/p', '.lmstudio', 'models'));
  });

  test('on Windows the cache of llama.cpp is in the local folder for programs', () => {
    const windows = { home: 'C:\\p', platform: 'win32', environment: { LOCALAPPDATA: '/local' } };
    expect(knownModelFolders(windows, () => undefined).map(({ folder }) => folder)).toContain(
      join('/local', 'llama.cpp'),
    );
  });

  test('includes the folders of other programs', () => {
    const programs = new Set(knownModelFolders(linux).map(({ program }) => program));
    expect([...programs]).toEqual(
      expect.arrayContaining(['Parley', 'LM Studio', 'Ollama', 'Hugging Face', 'llama.cpp', 'Jan', 'KoboldCpp']),
    );
  });
});

describe('modelsNamed', () => {
  const files = ['owner/some/model-q4', 'llama3.2:1b', 'tiny', 'other/tiny'].map((name) => ({
    name,
    path: name,
    program: '',
  }));
  test.each([
    ['tiny', ['tiny']],
    ['TINY.gguf', ['tiny']],
    ['model-q4', ['owner/some/model-q4']],
    ['llama3.2', ['llama3.2:1b']],
    ['nothing', []],
  ])('%s is %j', (asked, expected) => {
    expect(modelsNamed(files, asked).map(({ name }) => name)).toEqual(expected);
  });
});
