import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { readSha256 } from '../download.ts';
import { sha256 } from '../testing/hub.ts';
import { openRegistry } from '../testing/registry.ts';
import { readOllamaName, shortOllamaName } from './name.ts';
import { adapterOf, presetOf } from './preset.ts';
import { localOllama, pullOllama } from './pull-ollama.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-ollama-'));
afterAll(() => rmSync(root, { recursive: true }));
const folder = () => mkdtempSync(join(root, 'models-'));

const chatMl =
  '{{ if .System }}<|im_start|>system\n{{ .System }}<|im_end|>\n{{ end }}{{ if .Prompt }}<|im_start|>user\n{{ .Prompt }}<|im_end|>\n{{ end }}<|im_start|>assistant\n{{ .Response }}<|im_end|>\n';
const weights = Buffer.alloc(200_000, 1);
const foo = {
  layers: {
    model: weights,
    projector: Buffer.alloc(1000, 2),
    template: chatMl,
    system: 'You are Foo.',
    params: '{"stop":["<|im_end|>"],"temperature":0.6,"num_ctx":8192,"num_gpu":99}',
    license: 'Apache-2.0',
  },
};
const name = readOllamaName('foo:8b') ?? expect.fail();

async function registry(...options: Parameters<typeof openRegistry>) {
  const opened = await openRegistry(...options);
  onTestFinished(opened.close);
  const seen: [number, number | undefined, object | undefined][] = [];
  const parts = {
    hub: { offline: false, registry: opened.base },
    fetch,
    wait: async () => {},
    allowsAddress: () => true,
    progress: (done: number, total: number | undefined, layer?: object) => void seen.push([done, total, layer]),
  };
  return { ...opened, seen, parts };
}

describe('readOllamaName', () => {
  test.each([
    ['qwen3', 'registry.ollama.ai', 'library', 'qwen3', 'latest', 'qwen3'],
    ['qwen3:8b', 'registry.ollama.ai', 'library', 'qwen3', '8b', 'qwen3:8b'],
    ['library/qwen3:8b', 'registry.ollama.ai', 'library', 'qwen3', '8b', 'qwen3:8b'],
    ['owner/x:q4_K_M', 'registry.ollama.ai', 'owner', 'x', 'q4_K_M', 'owner/x:q4_K_M'],
    ['ollama.com/library/x', 'registry.ollama.ai', 'library', 'x', 'latest', 'x'],
    ['reg.example:5000/a/b:c', 'reg.example:5000', 'a', 'b', 'c', 'reg.example:5000/a/b:c'],
  ])('reads %s', (text, host, namespace, model, tag, short) => {
    const read = readOllamaName(text);
    expect(read).toEqual({ host, namespace, model, tag });
    expect(read && shortOllamaName(read)).toBe(short);
  });

  test.each([
    '',
    '..',
    'a/..',
    '../a',
    'a:..',
    'a%2fb',
    'a/b/c/d',
    'a b',
    '-a',
    'a:',
    'ns.with.dot/x',
    'x'.repeat(81),
    'con',
    'a/b:c/d',
    'a@b',
  ])('refuses %j', (text) => expect(readOllamaName(text)).toBeUndefined());
});

describe('pullOllama', () => {
  test('downloads weights and projector, and writes the parameters as a config beside them', async () => {
    const { parts, seen, asked } = await registry({ 'library/foo:8b': foo });
    const target = folder();
    const pulled = await pullOllama(name, { folder: target }, parts);
    const own = join(target, 'ollama--library--foo');
    const [path, projector] = [join(own, 'foo-8b.gguf'), join(own, 'mmproj-foo-8b.gguf')];
    expect(pulled).toMatchObject({ path, projector });
    expect(readFileSync(path).equals(weights)).toBe(true);
    expect(readdirSync(own)).toEqual(['foo-8b.gguf', 'foo-8b.kcpps', 'foo-8b.license.txt', 'mmproj-foo-8b.gguf']);
    expect(JSON.parse(readFileSync(join(own, 'foo-8b.kcpps'), 'utf8'))).toMatchObject({
      model_param: path,
      mmproj: projector,
      contextsize: 8192,
      systemprompt: 'You are Foo.',
      gendefaults: { temperature: 0.6, stop: ['<|im_end|>'] },
    });
    expect(seen.at(-1)).toEqual([201_000, 201_000, expect.objectContaining({ done: 1000, total: 1000 })]);
    expect(asked[0]).toMatchObject({ url: '/v2/library/foo/manifests/8b' });
  });

  test.each([
    ['a registry that cannot be reached', async () => Promise.reject(new TypeError('fetch failed'))],
    ['a registry that is overloaded', async () => new Response(null, { status: 503 })],
    ['a limit of requests', async () => new Response(null, { status: 429 })],
  ])('%s: the download may be tried again later', async (_, fetch) => {
    const { parts } = await registry({});
    await expect(pullOllama(name, { folder: folder() }, { ...parts, fetch })).rejects.toMatchObject({
      name: 'DownloadError',
      temporary: true,
    });
  });

  test('continues at the byte after a lost connection, and downloads nothing twice', async () => {
    // So large that most of it was read when the connection ends.
    const large = Buffer.alloc(8_000_000, 3);
    const models = { 'library/foo:8b': { layers: { model: large } } };
    const { parts, stored } = await registry(models, { breakAfter: [7_000_000] });
    const target = folder();
    const { path } = await pullOllama(name, { folder: target }, parts);
    expect(readFileSync(path).equals(large)).toBe(true);
    expect(stored.map(({ range }) => range)).toContainEqual(expect.stringMatching(/^bytes=[1-9]\d*-$/));
    const before = stored.length;
    await pullOllama(name, { folder: target }, parts);
    expect(stored.slice(before).every(({ url }) => !url.includes(sha256(large)))).toBe(true);
  });

  test('keeps nothing of a download with a wrong hash', async () => {
    const { parts } = await registry(
      { 'library/foo:8b': { layers: { model: weights } } },
      { damages: sha256(weights) },
    );
    const target = folder();
    await expect(pullOllama(name, { folder: target }, parts)).rejects.toThrow(
      /the sha256 of what came is .*nothing of it is kept/,
    );
    expect(readdirSync(join(target, 'ollama--library--foo'))).toEqual([]);
  });

  test('downloads nothing if the registry names another hash than the expected one', async () => {
    const { parts, stored } = await registry({ 'library/foo:8b': { layers: { model: weights } } });
    const expected = readSha256('ab'.repeat(32));
    await expect(pullOllama(name, { folder: folder(), expected }, parts)).rejects.toThrow(/names another sha256/);
    expect(stored.some(({ url }) => url.includes(sha256(weights)))).toBe(false);
  });

  const huge = JSON.stringify({
    layers: [{ mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${'a'.repeat(64)}`, size: 2 ** 50 }],
  });
  test.each([
    ['an unknown name', {}, /has no model foo:8b/],
    ['a private model', { 'library/foo:8b': { ...foo, needsLogin: true } }, /foo:8b needs a login at /],
    [
      'a cloud model',
      { 'library/foo:8b': { layers: {}, config: { remote_host: 'https://x' } } },
      /servers of Ollama only/,
    ],
    ['a model for MLX', { 'library/foo:8b': { layers: { tensor: 'x' } } }, /a model for MLX/],
    ['an adapter', { 'library/foo:8b': { layers: { model: 'x', adapter: 'x' } } }, /is an adapter \(LoRA\)/],
    ['no manifest', { 'library/foo:8b': { ...foo, manifest: '<html>' } }, /what came is not a manifest/],
    ['an absurd size', { 'library/foo:8b': { ...foo, manifest: huge } }, /which cannot be right/],
    [
      'an endless manifest',
      { 'library/foo:8b': { ...foo, manifest: ' '.repeat(2e6) } },
      /is longer than 1000000 bytes/,
    ],
  ])('refuses %s', async (_, models, reason) => {
    const { parts } = await registry(models);
    await expect(pullOllama(name, { folder: folder() }, parts)).rejects.toThrow(reason);
  });

  test('refuses storage at another protocol, and registries of the own network unless told', async () => {
    const elsewhere = await registry({ 'library/foo:8b': foo }, { storage: 'ftp://storage.example/x' });
    await expect(pullOllama(name, { folder: folder() }, elsewhere.parts)).rejects.toThrow(
      /to an address that cannot be used/,
    );
    const { base, parts } = await registry({ 'library/foo:8b': foo });
    const own = readOllamaName(`${new URL(base).host}/library/foo:8b`) ?? expect.fail();
    await expect(pullOllama(own, { folder: folder() }, { ...parts, allowsAddress: () => false })).rejects.toThrow(
      /is not on the internet. Use parley pull --insecure/,
    );
    const { path } = await pullOllama(own, { folder: folder() }, { ...parts, insecure: true });
    expect(path).toMatch(/ollama--127\.0\.0\.1_\d+--library--foo/);
  });

  test('asks nobody while HF_HUB_OFFLINE is set', async () => {
    const { parts, asked } = await registry({ 'library/foo:8b': foo });
    const offline = { ...parts, hub: { ...parts.hub, offline: true } };
    await expect(pullOllama(name, { folder: folder() }, offline)).rejects.toThrow(/HF_HUB_OFFLINE is set/);
    expect(asked).toEqual([]);
  });
});

describe('localOllama', () => {
  test('finds what was downloaded, with the settings of its config', async () => {
    const { parts } = await registry({ 'library/foo:8b': foo });
    const target = folder();
    const pulled = await pullOllama(name, { folder: target }, parts);
    expect(await localOllama(name, target, [])).toEqual(pulled);
    expect(await localOllama({ ...name, tag: '4b' }, target, [])).toBeUndefined();
  });

  test('uses a model of Ollama where it is, with its parameters', async () => {
    const store = folder();
    const put = (path: string, content: Buffer | string) => {
      mkdirSync(dirname(join(store, path)), { recursive: true });
      writeFileSync(join(store, path), content);
    };
    const layers = Object.entries(foo.layers).map(([kind, content]) => {
      const bytes = Buffer.from(content);
      put(join('blobs', `sha256-${sha256(bytes)}`), bytes);
      return {
        mediaType: `application/vnd.ollama.image.${kind}`,
        digest: `sha256:${sha256(bytes)}`,
        size: bytes.length,
      };
    });
    put(join('manifests', 'registry.ollama.ai', 'library', 'foo', '8b'), JSON.stringify({ layers }));
    const modelFolders = [{ program: 'Ollama', folder: store, layout: 'ollama' }] as const;
    const found = await localOllama(name, folder(), modelFolders);
    expect(found?.path).toBe(join(store, 'blobs', `sha256-${sha256(weights)}`));
    expect(found?.preset).toMatchObject({ contextsize: 8192, systemprompt: 'You are Foo.' });
    rmSync(found?.path ?? '');
    expect(await localOllama(name, folder(), modelFolders)).toBeUndefined();
  });
});

describe('presetOf', () => {
  test('uses the template of Ollama only where the file has none', () => {
    expect(presetOf({ template: chatMl }, true)).toEqual({});
    expect(JSON.parse(String(presetOf({ template: chatMl }, false).chatcompletionsadapter))).toEqual({
      system_start: '<|im_start|>system\n',
      system_end: '<|im_end|>\n',
      user_start: '<|im_start|>user\n',
      user_end: '<|im_end|>\n',
      assistant_start: '<|im_start|>assistant\n',
      assistant_end: '<|im_end|>\n',
    });
  });

  test.each([
    '',
    '{{ .Prompt }}',
    '{{ range .Messages }}{{ .Content }}{{ end }}',
    'x{{ if .System }}{{ .System }}{{ end }}',
  ])('adapterOf: %j cannot be expressed as an adapter', (template) => expect(adapterOf(template)).toBeUndefined());

  test('leaves out parameters of the wrong type and those of Ollama alone', () => {
    const params = '{"temperature":"hot","num_ctx":9e9,"stop":[1,"a",""],"use_mmap":true}';
    expect(presetOf({ params }, true)).toEqual({ contextsize: 524_288, gendefaults: { stop: ['a'] } });
    expect(presetOf({ params: 'no json', system: ' ' }, true)).toEqual({});
  });
});
