import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { defaultSettings } from '../config/flags.ts';
import { musicModel } from './music-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-music-'));
afterAll(() => rmSync(folder, { recursive: true }));
const tools = { terminal: { line: () => undefined } as never };
const path = (name: string): string => {
  writeFileSync(join(folder, name), Buffer.alloc(1000));
  return join(folder, name);
};
const settings = {
  ...defaultSettings,
  musicllm: path('lm.gguf'),
  musicembeddings: path('text.gguf'),
  musicdiffusion: path('ace-step.gguf'),
  musicvae: path('vae.gguf'),
};
const installed = () => ({ runtime: '/bare', module: 'file:///m', backends: '/b' });
const missing = () => {
  throw new Error('not installed');
};

test('musicModel: undefined without --musicdiffusion', () => {
  expect(musicModel(defaultSettings, tools)).toBeUndefined();
});

test('musicModel: is named by the diffusion model and loaded at the start', () => {
  expect(musicModel(settings, tools, installed)).toMatchObject({
    given: true,
    spec: { name: 'ace-step', kind: 'music' },
  });
});

test('musicModel: is not available without the pack, and a start that names it ends', () => {
  const model = musicModel(settings, tools, missing);
  expect([model?.given, model?.optional, model?.available?.()]).toEqual([true, undefined, false]);
  expect(musicModel(settings, tools, installed)?.available?.()).toBe(true);
});

test('musicModel: needs the memory of its four files and more', async () => {
  expect(await musicModel(settings, tools, installed)?.spec.need()).toBe(4000 + 2 ** 30);
});

test('musicModel: make() starts no process', () => {
  expect(musicModel(settings, tools, installed)?.spec.make().state()).toEqual({ type: 'loading', progress: 0 });
});
