import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { defaultSettings, type FlagKey, type Settings } from '../config/flags.ts';
import { testHub } from '../library/testing/hub.ts';
import { openRegistry } from '../library/testing/registry.ts';
import { Terminal } from '../observe/terminal.ts';
import { withFetchedModel } from './fetch-model.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-fetch-'));
afterAll(() => rmSync(root, { recursive: true }));

const foo = { files: { 'Foo-Q4_K_M.gguf': Buffer.alloc(3000, 1), 'mmproj-F16.gguf': Buffer.alloc(100, 2) } };

/** A computer with these files in a folder of LM Studio. */
function computer(base: string, { files = [] as string[], offline = false, hasVision = true } = {}) {
  const [folder, other] = [mkdtempSync(join(root, 'models-')), mkdtempSync(join(root, 'lm-studio-'))];
  for (const name of files) {
    mkdirSync(dirname(join(other, name)), { recursive: true });
    writeFileSync(join(other, name), 'x');
  }
  let text = '';
  const write = (piece: string) => {
    text += piece;
  };
  const fetchModel = (model: string, more: Partial<Settings> = {}) =>
    withFetchedModel(
      { ...defaultSettings, model: [model], ...more },
      {
        folder,
        modelFolders: [{ program: 'LM Studio', folder: other, layout: 'files' }],
        hub: { base, token: undefined, offline, registry: base },
        fetch,
        findPackage: () => Promise.reject(new Error('no npm')),
        terminal: new Terminal({ interactive: false, columns: 80, write }),
        signal: new AbortController().signal,
        now: () => 0,
        given: new Set(Object.keys(more) as FlagKey[]),
        hasVision,
      },
    );
  return { folder, other, fetchModel, text: () => text };
}

describe('a model on the hub', () => {
  test('is downloaded with its projector, and not again at the next start', async () => {
    const { base, asked } = await testHub({ 'acme/Foo': foo });
    const { fetchModel, folder, text } = computer(base);
    const settings = await fetchModel('hf:acme/Foo');
    expect(settings.model).toEqual([join(folder, 'acme--Foo', 'Foo-Q4_K_M.gguf')]);
    expect(settings.mmproj).toBe(join(folder, 'acme--Foo', 'mmproj-F16.gguf'));
    expect(text()).toMatch(/^Downloading hf:acme\/Foo to .*\n(.*\n)*Saved: .*Foo-Q4_K_M\.gguf\n$/);
    const before = asked.length;
    expect(await fetchModel('hf:Acme/foo:q4_k_m')).toEqual(settings);
    expect(asked).toHaveLength(before);
  });

  test('is used where another program has it, without asking the hub', async () => {
    const { fetchModel, other } = computer('http://hub.invalid', { files: ['acme/Foo/Foo-Q8_0.gguf'], offline: true });
    expect((await fetchModel('hf:acme/Foo')).model).toEqual([join(other, 'acme', 'Foo', 'Foo-Q8_0.gguf')]);
    expect((await fetchModel('hf:acme/Foo/sub/Foo-Q8_0.gguf')).model).toHaveLength(1);
    await expect(fetchModel('hf:acme/Foo:Q4_K_M')).rejects.toMatchObject({
      message: expect.stringMatching(/^hf:acme\/Foo:Q4_K_M could not be downloaded: HF_HUB_OFFLINE is set/),
      exitCode: 3,
    });
  });

  test('with parts missing is downloaded', async () => {
    const { base } = await testHub({ 'acme/Foo': foo });
    const { fetchModel, folder } = computer(base, { files: ['acme/Foo/Foo-Q8_0-00001-of-00002.gguf'] });
    expect((await fetchModel('hf:acme/Foo')).model?.[0]).toContain(folder);
  });

  test('keeps the projector that the settings name, and needs the vision pack for its own', async () => {
    const { base } = await testHub({ 'acme/Foo': foo });
    const { fetchModel, text } = computer(base, { hasVision: false });
    expect((await fetchModel('hf:acme/Foo', { mmproj: 'mine.gguf' })).mmproj).toBe('mine.gguf');
    expect((await fetchModel('hf:acme/Foo')).mmproj).toBe('');
    expect(text()).toContain('parley pack add vision');
  });

  test('that does not exist fails with a sentence', async () => {
    const { base } = await testHub({});
    await expect(computer(base).fetchModel('hf:acme/Foo')).rejects.toMatchObject({
      message: expect.stringMatching(
        /^hf:acme\/Foo could not be downloaded: .* has no model acme\/Foo, or it is private/,
      ),
      exitCode: 3,
    });
  });
});

describe('a name', () => {
  test('is that of a file or of a model in the list first', async () => {
    const { fetchModel, other } = computer('http://hub.invalid', {
      files: ['acme/Foo/Foo-Q8_0.gguf', 'x/y/mmproj.gguf'],
    });
    const path = join(other, 'acme', 'Foo', 'Foo-Q8_0.gguf');
    expect((await fetchModel('name:foo-q8_0')).model).toEqual([path]);
    expect((await fetchModel(`name:${path}`)).model).toEqual([path]);
  });

  test('of the list brings its projector', async () => {
    const files = ['acme/Foo/Foo-Q8_0.gguf', 'acme/Foo/mmproj-F16.gguf'];
    const { fetchModel, other } = computer('http://hub.invalid', { files });
    expect((await fetchModel('name:Foo-Q8_0')).mmproj).toBe(join(other, 'acme', 'Foo', 'mmproj-F16.gguf'));
  });

  test('that several models have is refused with their paths', async () => {
    const { fetchModel } = computer('http://hub.invalid', { files: ['a/b/Foo.gguf', 'c/d/Foo.gguf'] });
    await expect(fetchModel('name:Foo')).rejects.toThrow(/^Foo may be any of these: .*b.Foo\.gguf, .*d.Foo\.gguf$/);
  });

  test('of the hub is downloaded', async () => {
    const { base } = await testHub({ 'acme/Foo': foo });
    const { fetchModel, folder } = computer(base);
    expect((await fetchModel('name:acme/Foo')).model?.[0]).toContain(folder);
  });
});

describe("a name of Ollama's registry", () => {
  const layers = { model: 'weights', params: '{"num_ctx":2048,"temperature":0.5}', system: 'You are Foo.' };

  test('is downloaded with its parameters, and not again; flags of the person win', async () => {
    const registry = await openRegistry({ 'library/foo:8b': { layers } });
    onTestFinished(registry.close);
    const { fetchModel, folder, text } = computer(registry.base);
    const settings = await fetchModel('name:foo:8b');
    expect(settings).toMatchObject({
      model: [join(folder, 'ollama--library--foo', 'foo-8b.gguf')],
      contextsize: 2048,
      defaultgenamt: 1024,
      systemprompt: 'You are Foo.',
      gendefaults: { temperature: 0.5 },
    });
    expect(text()).toContain('Settings of the model: --gendefaults, --contextsize, --systemprompt');
    const before = registry.asked.length;
    expect(await fetchModel('ollama:foo:8b', { contextsize: 4096 })).toMatchObject({
      model: settings.model,
      contextsize: 4096,
      systemprompt: 'You are Foo.',
    });
    expect(registry.asked).toHaveLength(before);
  });

  test('that it does not have fails with a sentence', async () => {
    const registry = await openRegistry({});
    onTestFinished(registry.close);
    await expect(computer(registry.base).fetchModel('name:foo:99b')).rejects.toMatchObject({
      message: expect.stringMatching(/^foo:99b could not be downloaded: .* has no model foo:99b/),
      exitCode: 3,
    });
  });
});

test('an address is downloaded into a folder of its own, and used at the next start', async () => {
  const { base, stored } = await testHub({ 'acme/Foo': { files: { 'm.bin': Buffer.alloc(10) } } });
  const { fetchModel, folder } = computer('http://hub.invalid');
  const url = `${base}/acme/Foo/resolve/main/m.bin`;
  const [path = ''] = (await fetchModel(url)).model ?? [];
  expect(readdirSync(folder)).toEqual([expect.stringMatching(/^127\.0\.0\.1--[0-9a-f]{8}$/)]);
  expect((await fetchModel(url)).model).toEqual([path]);
  expect(stored).toHaveLength(1);
});

test.each(['hf:acme/../x', 'hf:a', 'https://a/%2e%2e%2fx.gguf', 'hf:a/b%2fc', 'ollama:../x', 'name:a%2fb'])(
  '%s is refused before anything is asked',
  async (name) => {
    await expect(computer('http://hub.invalid').fetchModel(name)).rejects.toMatchObject({ exitCode: 2 });
  },
);
