import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { defaultSettings } from '../config/flags.ts';
import { optionNames } from './admin-options.ts';
import type { PreparedModel } from './prepared-model.ts';
import { PresetFiles, presetOffers } from './presets.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-presets-'));
afterAll(() => rmSync(folder, { recursive: true }));
mkdirSync(join(folder, 'sub'));

const write = (file: string, config: object) => writeFileSync(join(folder, file), JSON.stringify(config));

async function offersOf(files: readonly string[], models: readonly (readonly string[])[] = [['qwen3', 'qwen3.gguf']]) {
  const presets = await new PresetFiles(folder).among(files);
  return presetOffers(presets, { names: optionNames(files), models, warn: () => undefined });
}

test('a preset has its own name, that of its file, and one with its base', async () => {
  write('sub/cold.kcpps', { base: 'QWEN3', gendefaults: { temperature: 0 } });
  expect(await offersOf(['sub/cold.kcpps', 'qwen3.gguf'])).toMatchObject([
    {
      names: ['cold', 'sub/cold', 'sub/cold.kcpps', 'qwen3:cold'],
      preset: { base: 'qwen3', problem: undefined },
    },
  ]);
});

test('a base that is unknown, a preset, or the preset itself is a problem', async () => {
  write('a.kcpps', { base: 'nowhere' });
  write('b.kcpps', { base: 'sub/cold' });
  write('c.kcpps', { base: 'c' });
  write('sub/cold.kcpps', { base: 'qwen3' });
  const offers = await offersOf(['a.kcpps', 'b.kcpps', 'c.kcpps', 'sub/cold.kcpps']);
  expect(offers.map(({ preset }) => preset?.problem)).toEqual([
    'Its base, nowhere, is no model of this server.',
    'Its base, sub/cold, is a preset too, and presets have one level only; name qwen3 instead.',
    'Its base, c, is the preset itself; name the model that it is for.',
    undefined,
  ]);
});

test('a base that is a preset: names the model below it, or none where presets lead in a circle', async () => {
  write('one.kcpps', { base: 'two' });
  write('two.kcpps', { base: 'three' });
  write('three.kcpps', { base: 'qwen3' });
  write('left.kcpps', { base: 'right' });
  write('right.kcpps', { base: 'left' });
  const offers = await offersOf(['one.kcpps', 'two.kcpps', 'three.kcpps', 'left.kcpps', 'right.kcpps']);
  const level = 'is a preset too, and presets have one level only; name';
  expect(offers.map(({ preset }) => preset?.problem)).toEqual([
    `Its base, two, ${level} qwen3 instead.`,
    `Its base, three, ${level} qwen3 instead.`,
    undefined,
    `Its base, right, ${level} the model that it is for instead.`,
    `Its base, left, ${level} the model that it is for instead.`,
  ]);
});

test('a preset with the name of its base is no base of itself', async () => {
  write('qwen3.kcpps', { base: 'qwen3' });
  const [offer] = await offersOf(['qwen3.kcpps', 'qwen3.gguf'], [['qwen3.gguf']]);
  expect(offer?.preset).toMatchObject({ base: 'qwen3.gguf', problem: undefined });
});

test('PresetFiles: other configs are left out, and a changed file is read again', async () => {
  write('d.kcpps', { base: 'one' });
  write('plain.kcpps', { model_param: 'x.gguf' });
  const presets = new PresetFiles(folder);
  const bases = async () =>
    (await presets.among(['d.kcpps', 'plain.kcpps', 'gone.kcpps', 'x.gguf'])).map(
      ({ reading }) => reading.type === 'preset' && reading.preset.base,
    );
  expect(await bases()).toEqual(['one']);
  write('d.kcpps', { base: 'two' });
  utimesSync(join(folder, 'd.kcpps'), 100, 100);
  expect(await bases()).toEqual(['two']);
});

test('a preset is its base with other settings, and shares its engine and its chat format', async () => {
  write('e.kcpps', { base: 'qwen3', systemprompt: 'Be brief.', messages: [{ role: 'user', content: 'Hi' }] });
  const [offer] = await offersOf(['e.kcpps']);
  const base = { name: 'qwen3', settings: defaultSettings, format: {}, spec: {} } as PreparedModel;
  const model = await offer?.prepare('e', base);
  expect(model).toMatchObject({ name: 'e', opening: { systemPrompt: 'Be brief.', messages: [{ role: 'user' }] } });
  expect(model?.spec).toBe(base.spec);
  expect(model?.format).toBe(base.format);
});

test('a preset with another chat adapter has a chat format of its own', async () => {
  write('f.kcpps', { base: 'qwen3', chatcompletionsadapter: '{"user_start":"<u>"}' });
  const [offer] = await offersOf(['f.kcpps']);
  const base = { name: 'qwen3', settings: defaultSettings, format: {}, file: undefined } as unknown as PreparedModel;
  expect((await offer?.prepare('f', base))?.format.adapter.adapter.tags.userStart).toBe('<u>');
});
