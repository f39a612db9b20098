import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { partsOf } from '../../load-options.ts';
import { computerName, fingerprint, type ShapingOptions, sampleOffsets } from './fingerprint.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-fingerprint-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const size = 6 * 2 ** 20;
const write = (name: string, change?: { readonly at: number }, time = 1000) => {
  const content = Buffer.alloc(size, 'weights');
  if (change) content[change.at] = 0;
  const path = join(root, name);
  writeFileSync(path, content);
  utimesSync(path, time, time);
  return path;
};

const options = (changes: Partial<ShapingOptions> = {}): ShapingOptions => ({
  model: join(root, 'model.gguf'),
  lora: [{ path: join(root, 'lora.gguf'), scale: 1 }],
  cacheType: 'f16',
  flashAttention: true,
  rope: { scale: 0, base: 10_000 },
  contextSize: 4096,
  contextSizeGiven: false,
  trainedContextOverride: 0,
  metadataOverrides: [],
  fullSlidingWindow: false,
  addBos: true,
  ...changes,
});
const take = (changes?: Partial<ShapingOptions>, library = '1') => fingerprint(options(changes), library);
const reset = () => [write('model.gguf'), write('lora.gguf')];

test('fingerprint: equal for the same files and settings', async () => {
  reset();
  const before = await take();
  expect(before).toMatch(/^[0-9a-f]{64}$/);
  reset();
  expect(await take()).toBe(before);
});

test.each<[string, () => unknown, Partial<ShapingOptions>?]>([
  ['a model with another middle', () => write('model.gguf', { at: sampleOffsets(size)[40] as number })],
  ['a model with another end', () => write('model.gguf', { at: size - 1 })],
  ['a newer model', () => write('model.gguf', undefined, 2000)],
  ['a LoRA with another middle', () => write('lora.gguf', { at: sampleOffsets(size)[40] as number })],
  ['a newer LoRA', () => write('lora.gguf', undefined, 2000)],
  ['another scale', reset, { lora: [{ path: join(root, 'lora.gguf'), scale: 0.5 }] }],
  ['no LoRA', reset, { lora: [] }],
  ['another format of the cache', reset, { cacheType: 'q8_0' }],
])('fingerprint: differs for %s', async (_, change, settings) => {
  reset();
  const before = await take();
  change();
  expect(await take(settings)).not.toBe(before);
});

test('fingerprint: differs for another library', async () => {
  reset();
  expect(await take({}, '2')).not.toBe(await take({}, '1'));
});

test('partsOf: every part of a split model', () => {
  expect(partsOf('/m/big-00002-of-00003.gguf')).toEqual([
    '/m/big-00001-of-00003.gguf',
    '/m/big-00002-of-00003.gguf',
    '/m/big-00003-of-00003.gguf',
  ]);
  expect(partsOf('/m/small.gguf')).toEqual(['/m/small.gguf']);
});

test('fingerprint: a whole model may be named like a part', async () => {
  reset();
  const model = join(root, 'whole-00001-of-00002.gguf');
  write('whole-00001-of-00002.gguf');
  const before = await take({ model });
  write('whole-00001-of-00002.gguf', undefined, 2000);
  expect(await take({ model })).not.toBe(before);
});

test.each([0, 1, 64 * 1024, 5 * 2 ** 20, 40 * 2 ** 30])(
  'sampleOffsets: samples of a file of %d bytes reach both ends',
  (bytes) => {
    const offsets = sampleOffsets(bytes);
    expect(offsets.length).toBeLessThanOrEqual(80);
    expect(Math.min(...offsets)).toBe(0);
    expect(Math.max(...offsets)).toBe(Math.max(0, bytes - 64 * 1024));
  },
);

const computing = { threads: 4, batchThreads: 8, microBatchSize: 512 };
const machine = { cpuVariant: 'haswell', gpuLayers: 0 };

test('computerName: only the library by default', () => {
  expect(computerName('1', { ...computing, deterministic: false }, machine)).toBe('1');
});

test('computerName: everything that changes rounding if replies must not depend on the cache', () => {
  const name = (options = {}, placement = {}) =>
    computerName('1', { ...computing, deterministic: true, ...options }, { ...machine, ...placement });
  const names = [
    name(),
    name({ threads: 5 }),
    name({ batchThreads: 4 }),
    name({ microBatchSize: 32 }),
    name({}, { cpuVariant: 'zen4' }),
    name({}, { gpuLayers: 3 }),
    computerName('2', { ...computing, deterministic: true }, machine),
    '1',
  ];
  expect(new Set(names).size).toBe(names.length);
  expect(name()).toBe(name());
});
