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
  const store = presetStore({
    folder,
    offers,
    others: () => ['first'],
    present: () => 'first',
    files: () => adminFiles(folder),
    changed: () => undefined,
  });
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

test.each(['短い', 'مختصر', 'संक्षिप्त', 'kürzer-2', '간결'])('save: a preset can be called %s', async (name) => {
  const { store, folder } = world();
  expect(await store.save(name, { settings: {}, replace: false })).toBe(name);
  expect(await store.save(`qwen3:${name}`, { base: 'qwen3', settings: {}, replace: true })).toBe(name);
  expect(readdirSync(folder)).toContain(`${name}.kcpps`);
  expect((await store.list()).map((one) => one.name)).toEqual([name]);
  expect(await store.remove(name)).toBe(true);
});

test('save: names that differ only in their vowel signs are two presets', async () => {
  const { store } = world();
  for (const name of ['की', 'का']) await store.save(name, { settings: {}, replace: false });
  expect((await store.list()).map(({ name }) => name).sort()).toEqual(['का', 'की']);
});

test.each<[string, Partial<NewPreset>, string | RegExp]>([
  ['qwen3', {}, 'qwen3 is a model already; choose another name for the preset.'],
  ['first', {}, 'first is a model already; choose another name for the preset.'],
  ['../terse', {}, /cannot be the name of a preset/],
  ['a/b', {}, /cannot be the name of a preset/],
  ['other:tag', {}, /cannot be the name of a preset; choose a plain name, such as terse or qwen3:terse\.$/],
  ['con', {}, /cannot be the name of a preset/],
  ['.短い', {}, /cannot be the name of a preset/],
  ['短/い', {}, /cannot be the name of a preset/],
  ['短\u0007い', {}, /cannot be the name of a preset/],
  ['短\u202eい', {}, /cannot be the name of a preset/],
  ['短'.repeat(80), {}, /cannot be the name of a preset/],
  ['terse', { from: 'nobody' }, 'There is no model nobody to make a preset of.'],
  ['terse', { from: 'old' }, 'old is a preset, and presets have one level only; name its base instead.'],
  ['terse', { parameters: { num_gpu: 1 } }, /^A preset cannot change how its base is loaded: leave out .*num_gpu/],
  ['terse', { parameters: { temperature: 'hot' } }, /^parameters: temperature must be a number/],
  ['terse', { parameters: { colour: 'red' } }, /^parameters: colour is not a field of a request/],
  ['terse', { parameters: { max_tokens: 5 } }, /^parameters does not set .* Use num_predict\.$/],
  ['terse', { template: '{{ .Prompt }}' }, /^template must have/],
  ['terse', { messages: ['Hi'] }, /^messages must be a list/],
])('create: refuses %s with %j', async (name, own, problem) => {
  const { create, folder } = world();
  writeFileSync(join(folder, 'old.kcpps'), '{"base":"qwen3"}');
  await expect(create(name, own)).rejects.toThrow(problem);
  expect(readdirSync(folder).sort()).toEqual(['old.kcpps', 'qwen3.gguf']);
});

test('save: writes settings for the model in use, and replaces a preset only where that is meant', async () => {
  const { store, read } = world();
  const settings = { systemprompt: 'Be brief.', gendefaults: { temperature: 0 }, memory: false };
  expect(await store.save('terse', { settings, replace: false })).toBe('terse');
  expect(read('terse.kcpps')).toEqual({ base: 'first', ...settings });
  await expect(store.save('terse', { settings, replace: false })).rejects.toThrow('There is a preset terse already.');
  await store.save('terse', { base: 'qwen3', settings: { reasoningeffort: 'none' }, replace: true });
  expect(read('terse.kcpps')).toEqual({ base: 'qwen3', reasoningeffort: 'none' });
});

test('save: keeps the keys of a file that requests may not set, and the base that is not in use', async () => {
  const { folder, store, read } = world();
  const written = { base: 'gone', jinjatemplate: 'own.jinja', systemprompt: 'One.', memory: true };
  writeFileSync(join(folder, 'old.kcpps'), JSON.stringify(written));
  await store.save('old', { base: 'gone', settings: { systemprompt: 'Two.' }, replace: true });
  expect(read('old.kcpps')).toEqual({ base: 'gone', jinjatemplate: 'own.jinja', systemprompt: 'Two.' });
});

test('save: takes back what list shows, also keys that only a person may write, but none of them changed', async () => {
  const { folder, store, read } = world();
  const written = {
    base: 'qwen3',
    jinja: true,
    jinjatemplate: '{{ messages }}',
    mcptools: ['tell_time'],
    file_version: 1,
  };
  writeFileSync(join(folder, 'own.kcpps'), JSON.stringify({ ...written, system_prompt: 'One.' }));
  const [{ settings } = { settings: {} }] = await store.list();
  expect(settings).toMatchObject({ jinja: true, systemprompt: 'One.' });
  await store.save('own', { base: 'qwen3', settings: { ...settings, systemprompt: 'Two.' }, replace: true });
  expect(read('own.kcpps')).toEqual({ ...written, systemprompt: 'Two.' });
  const changed = { ...settings, jinjatemplate: '/etc/passwd' };
  await expect(store.save('own', { base: 'qwen3', settings: changed, replace: true })).rejects.toThrow(
    'jinjatemplate is not a setting that can be saved here.',
  );
});

test('save: refuses keys that load something, invalid values, models and unknown bases, in a sentence', async () => {
  const { store, folder } = world();
  const save = (settings: object, own = {}, name = 'terse') =>
    store.save(name, { settings: settings as never, replace: false, ...own });
  await expect(save({ jinjatemplate: '/etc/passwd' })).rejects.toThrow('jinjatemplate is not a setting');
  await expect(save({ contextsize: 512 })).rejects.toThrow('contextsize is not a setting');
  await expect(save({ gendefaults: { temperature: 'hot' } })).rejects.toThrow('temperature must be a number');
  await expect(save({}, { base: 'other' })).rejects.toThrow('There is no model other to make a preset of.');
  await expect(save({}, {}, 'qwen3')).rejects.toThrow('qwen3 is a model already');
  await expect(save({}, {}, '../terse')).rejects.toThrow('cannot be the name of a preset');
  expect(readdirSync(folder)).toEqual(['qwen3.gguf']);
});

test('list: names, bases and settings, and why one cannot be used', async () => {
  const { folder, store } = world();
  await store.save('terse', { base: 'qwen3', settings: { systemprompt: 'Be brief.' }, replace: false });
  writeFileSync(join(folder, 'lost.kcpps'), JSON.stringify({ base: 'gone' }));
  expect(await store.list()).toEqual([
    { name: 'lost', base: 'gone', settings: {}, problem: 'Its base, gone, is no model of this server.' },
    { name: 'terse', base: 'qwen3', settings: { systemprompt: 'Be brief.' }, problem: undefined },
  ]);
});
