import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { defaultSettings, type Settings } from '../config/flags.ts';
import { taskModels } from './engine-kinds.ts';
import { diffusionModel } from './image-model.ts';
import type { ImageModel } from './task-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-diffusion-'));
afterAll(() => rmSync(folder, { recursive: true }));
const tools = { terminal: { line: () => undefined } as never, text: { name: '', file: undefined } };
const path = join(folder, 'dream.safetensors');
const vae = join(folder, 'vae.gguf');
writeFileSync(path, 'model.diffusion_model.input_blocks.0'.padEnd(1000));
writeFileSync(vae, Buffer.alloc(500));

const there = () => ({ runtime: '/bare', driver: 'file:///d' });
const missing = () => {
  throw new Error('not installed');
};
const model = (changes: Partial<Settings> = {}, find: () => ReturnType<typeof there> = there) =>
  diffusionModel({ ...defaultSettings, sdmodel: path, ...changes }, tools, find);

describe('imageModel: --sdmodel', () => {
  test('is loaded at the start, counts as a model and is never unloaded when idle', () => {
    const { given, optional, spec } = model();
    expect([given, optional, spec.name, spec.kind]).toEqual([true, false, 'dream', 'image']);
    expect([spec.auxiliary, spec.keepMs]).toEqual([undefined, undefined]);
  });

  test('the server starts if its engine is not installed, and the model is not available', () => {
    expect(model({}, missing).optional).toBe(true);
    expect([model({}, missing).available?.(), model().available?.()]).toEqual([false, true]);
  });

  test('has its facts before it is loaded', () => {
    expect(model({ sdvae: vae }).facts).toMatchObject({ name: 'dream', path, nativeSize: 512, vae: 'vae.gguf' });
  });

  test('needs the memory of its files, less if quantized, and working memory', async () => {
    const working = await model().spec.need();
    expect((await model({ sdvae: vae }).spec.need()) - working).toBe(500);
    expect(working - (await model({ sdquant: 2 }).spec.need())).toBe(700);
    await expect(model({ sdvae: join(folder, 'none') }).spec.need()).rejects.toThrow('ENOENT');
  });

  test('make() starts no process', () => {
    const lifecycle = model().spec.make();
    expect([lifecycle.state(), lifecycle.engine.pid]).toEqual([{ type: 'loading', progress: 0 }, undefined]);
  });
});

describe('imageModel: source', () => {
  const imageOf = async (changes: Partial<Settings>) =>
    (await taskModels({ ...defaultSettings, ...changes }, tools)).image as ImageModel;
  const name = async (changes: Partial<Settings>) => (await imageOf(changes)).spec.name;

  test('is the built-in model, that of --sdmodel, or the server of --sdremote', async () => {
    expect(await name({})).toBe('parley-sketch (built-in)');
    expect(await name({ sdmodel: path })).toBe('dream');
    expect(await name({ sdremote: ['localhost:7860'] })).toBe('http://localhost:7860');
  });

  test('--sdremote: needs no memory, and may become reachable later', async () => {
    const { given, optional, spec, facts } = await imageOf({ sdremote: ['http://x:1'] });
    expect([given, optional, spec.auxiliary, await spec.need()]).toEqual([true, true, true, 0]);
    expect(facts.title).toBe('http://x:1');
    expect(spec.make().engine.facts()).toBeUndefined();
  });

  test('--sdremote: rejects an invalid address at the start', async () => {
    await expect(name({ sdremote: ['ftp://x'] })).rejects.toThrow('is no address');
  });
});
