import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { NewPreset } from '../core/models-view.ts';
import { adminFiles, optionNames } from '../models/admin-options.ts';
import { PresetFiles, presetOffers } from '../models/presets.ts';
import { presetStore } from './preset-store.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** A folder with one model, `qwen3`, beside the model of the start. */
function world() {
  const folder = mkdtempSync(join(tmpdir(), 'parley-preset-store-'));
  folders.push(folder);
  writeFileSync(join(folder, 'qwen3.gguf'), '');
  const presets = new PresetFiles(folder);
  const offers = async () => {
    const files = await adminFiles(folder);
    const names = optionNames(files);
    const model = { names: names.get('qwen3.gguf') ?? [], path: undefined, prepare: () => Promise.reject(new Error()) };
    const found = await presets.among(files);
    return [model, ...presetOffers(found, { names, models: [model.names], warn: () => undefined })];
  };
  const store = presetStore({ folder, offers, others: () => ['first'], files: () => adminFiles(folder) });
  const create = (name: string, own: Partial<NewPreset> = {}) =>
    store.create(name, { from: 'qwen3', parameters: {}, system: '', template: '', messages: [], ...own });
  const read = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8'));
  return { folder, store, create, read };
}

test('create: writes parameters, system prompt, template and messages as a config', async () => {
  const { create, read, folder } = world();
  const template =
    '{{ if .System }}<s>{{ .System }}</s>{{ end }}{{ if .Prompt }}<u>{{ .Prompt }}</u>{{ end }}<a>{{ .Response }}</a>';
  const parameters = { temperature: 0, stop: ['END'], num_ctx: 512, num_predict: 40, num_keep: 4 };
  const messages = [{ role: 'user', content: 'Hi' }];
  await create('terse:latest', { from: 'QWEN3', parameters, system: 'Be brief.', template, messages });
  expect(read('terse.kcpps')).toEqual({
    base: 'qwen3',
    gendefaults: { temperature: 0, stop: ['END'], num_ctx: 512 },
    defaultgenamt: 40,
    systemprompt: 'Be brief.',
    chatcompletionsadapter: expect.stringContaining('<u>'),
    jinja: false,
    messages,
  });
  expect(readdirSync(folder).sort()).toEqual(['qwen3.gguf', 'terse.kcpps']);
});

test('create: a name with the base is one with a tag, and a preset of that name is replaced', async () => {
  const { create, read, store } = world();
  await create('qwen3:terse', { system: 'One.' });
  await create('terse', { from: 'first', system: 'Two.' });
  expect(read('terse.kcpps')).toEqual({ base: 'first', systemprompt: 'Two.' });
  expect(await store.remove('terse:latest')).toBe(true);
  expect(await store.remove('terse')).toBe(false);
});

test.each<[string, Partial<NewPreset>, string | RegExp]>([
  ['qwen3', {}, 'qwen3 is a model already; choose another name for the preset.'],
  ['first', {}, 'first is a model already; choose another name for the preset.'],
  ['../terse', {}, /cannot be the name of a preset/],
  ['a/b', {}, /cannot be the name of a preset/],
  ['other:tag', {}, /cannot be the name of a preset; choose a plain name, such as terse or qwen3:terse\.$/],
  ['con', {}, /cannot be the name of a preset/],
  ['terse', { from: 'nobody' }, 'There is no model nobody to make a preset of.'],
  ['terse', { from: 'old' }, 'old is a preset, and presets have one level only; name its base instead.'],
  ['terse', { parameters: { num_gpu: 1 } }, /^A preset cannot change how its base is loaded: leave out .*num_gpu/],
  ['terse', { parameters: { temperature: 'hot' } }, /temperature must be a number/],
  ['terse', { parameters: { colour: 'red' } }, /colour is not a field of a request/],
  ['terse', { template: '{{ .Prompt }}' }, /^template must have/],
  ['terse', { messages: ['Hi'] }, /^messages must be a list/],
])('create: refuses %s with %j', async (name, own, problem) => {
  const { create, folder } = world();
  writeFileSync(join(folder, 'old.kcpps'), '{"base":"qwen3"}');
  await expect(create(name, own)).rejects.toThrow(problem);
  expect(readdirSync(folder).sort()).toEqual(['old.kcpps', 'qwen3.gguf']);
});
