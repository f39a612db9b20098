import { describe, expect, test } from 'vitest';
import { defaultSettings, type Settings } from '../../config/flags.ts';
import { loadOptions } from './load-options.ts';

const shape = { architecture: 'llama', layers: 3, trainedContext: 2048, sizeBytes: 1e9, cacheBytesPerToken: 1000 };
const optionsFor = (settings: Partial<Settings>) =>
  loadOptions(
    { ...defaultSettings, ...settings },
    { model: 'm.gguf', name: 'm', shape, threads: 4, contextSizeGiven: false },
  );

test('loadOptions: automatic layers, any backend and 16-bit cache without flags', () => {
  expect(optionsFor({})).toMatchObject({
    backend: 'auto',
    gpuLayers: 'auto',
    cacheType: 'f16',
    batchSize: 512,
    microBatchSize: 512,
    batchThreads: 4,
    contextShift: true,
    flashAttention: true,
    loadMode: 'auto',
  });
});

test.each<[Partial<Settings>, object]>([
  [{ usecpu: true }, { backend: 'cpu' }],
  [{}, { deterministic: false, fullSlidingWindow: false }],
  [{ deterministic: true }, { deterministic: true, contextShift: false, fullSlidingWindow: true }],
  [{ noshift: true }, { deterministic: false, contextShift: false }],
  [{ usevulkan: [1, 2] }, { backend: 'vulkan', devices: ['1', '2'] }],
  [{ usecuda: ['normal', '0'] }, { backend: 'cuda', devices: ['0'] }],
  [{ device: 'Vulkan0, CUDA1' }, { devices: ['Vulkan0', 'CUDA1'] }],
  [{ gpulayers: 0 }, { gpuLayers: 0 }],
  [{ gpulayers: 12 }, { gpuLayers: 12 }],
  [{ gpulayers: 12, autofit: true }, { gpuLayers: 'auto' }],
  [{ batchsize: -1 }, { batchSize: 1, microBatchSize: 1 }],
  [
    { batchsize: 1024, ubatchsize: 256 },
    { batchSize: 1024, microBatchSize: 256 },
  ],
  [{ usemmap: true, usemlock: true }, { loadMode: 'mmap+mlock' }],
  [{ ropeconfig: [0.5, 20000] }, { rope: { scale: 0.5, base: 20000 } }],
  [{ lora: ['a.gguf'], loramult: [0.5] }, { lora: [{ path: 'a.gguf', scale: 0.5 }] }],
  [
    { lora: ['a.gguf', 'b.gguf', 'c.gguf'], loramult: [0, 0.5] },
    {
      lora: [
        { path: 'a.gguf', scale: 0 },
        { path: 'b.gguf', scale: 0.5 },
        { path: 'c.gguf', scale: 0.5 },
      ],
    },
  ],
  [{ moeexperts: 2 }, { metadataOverrides: [{ key: 'llama.expert_used_count', type: 'int', value: '2' }] }],
  [
    { overridekv: 'a.b=int:7,c=str:x=y' },
    {
      metadataOverrides: [
        { key: 'a.b', type: 'int', value: '7' },
        { key: 'c', type: 'str', value: 'x=y' },
      ],
    },
  ],
  [{ overridetensors: 'blk=0=CPU' }, { tensorOverrides: [{ pattern: 'blk=0', buffer: 'CPU' }] }],
  [{ failsafe: true }, { cpuLevel: 'no-avx', cpuBuild: undefined }],
  [{ cpubuild: 'haswell' }, { cpuLevel: 'best', cpuBuild: 'haswell' }],
  [{ diskcache: '/cache:5G' }, { diskCache: { folder: '/cache', bytes: 5 * 2 ** 30 } }],
  [{}, { diskCache: undefined, projector: undefined, draft: undefined, savedStates: 5 }],
  [{}, { smartCache: -1 }],
  [{ smartcache: 0 }, { smartCache: 0, savedStates: 5 }],
  [{ smartcache: 1 }, { smartCache: 5, savedStates: 5 }],
  [{ smartcache: 8 }, { smartCache: 8, savedStates: 8 }],
  [{ draftngram: 3 }, { draft: { amount: 4, pattern: 3, model: undefined } }],
  [
    { draftmodel: 'small.gguf', draftamount: 8, draftgpulayers: -1 },
    { draft: { amount: 8, pattern: 0, model: { path: 'small.gguf', gpuLayers: 999 } } },
  ],
  [{ draftmodel: 'small.gguf', draftgpulayers: 3 }, { draft: { model: { gpuLayers: 3 } } }],
  [{ draftmodel: 'small.gguf', draftamount: 0 }, { draft: undefined }],
  [
    { mmproj: 'eyes.gguf', visionmaxres: 512, visionmaxtokens: 100 },
    { projector: { path: 'eyes.gguf', useGpu: true, maxSide: 512, minTokens: -1, maxTokens: 100 } },
  ],
  [{ mmproj: 'eyes.gguf', mmprojcpu: true }, { projector: { useGpu: false } }],
  [{ mmproj: 'eyes.gguf', usecpu: true }, { projector: { useGpu: false } }],
])('loadOptions: %j becomes %j', (settings, expected) => expect(optionsFor(settings)).toMatchObject(expected));

describe('loadOptions: expert weights on the CPU', () => {
  test('one pattern per layer, up to the last layer', () =>
    expect(optionsFor({ moecpu: 999 }).tensorOverrides.map(({ pattern }) => pattern.slice(0, 8))).toEqual([
      'blk\\.0\\.',
      'blk\\.1\\.',
      'blk\\.2\\.',
    ]));
});

test.each(['nonsense', 'a=int:x', 'a=kind:1', 'a=bool:maybe'])('loadOptions: rejects --overridekv %s', (overridekv) =>
  expect(() => optionsFor({ overridekv })).toThrow('--overridekv must be name=type:value'),
);
test('loadOptions: rejects --overridetensors without a device', () =>
  expect(() => optionsFor({ overridetensors: 'CPU' })).toThrow('pattern=device'));
