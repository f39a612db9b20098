import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import koffi from 'koffi';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defaultSampling, type Sampling } from '../../../../core/sampling-fields.ts';
import { Sampler } from '../../../../sampling/sampler.ts';
import { SamplerPool, samplerThreads } from './sampler-pool.ts';
import { controlIndex } from './shared-rows.ts';

const vocabularySize = 20_000;
const contextSize = 64;
const folder = fileURLToPath(new URL('../../../../../.cache/sampler-thread/', import.meta.url));
const name = 'engines/llama/worker/sampler-threads/sampler-thread';
const workers: Worker[] = [];

beforeAll(async () => {
  const { bundleModules } = (await import(new URL('../../../../../scripts/bundle.mjs', import.meta.url).href)) as {
    bundleModules: (from: string, to: string, names: readonly string[]) => Promise<void>;
  };
  await bundleModules(fileURLToPath(new URL('../../../..', import.meta.url)), folder, [name]);
});
afterAll(async () => {
  for (const worker of workers) await worker.terminate();
});

/** With real threads, which are ready. */
function pool(threads: number): SamplerPool {
  return new SamplerPool({ vocabularySize, sequences: 8, gpuLayers: 1 }, threads, (data) => {
    workers.push(new Worker(`${folder}${name}.js`, { workerData: data, transferList: [data.port] }));
    while (Atomics.load(data.shared.control, controlIndex.ready) === 0)
      Atomics.wait(data.shared.control, controlIndex.ready, 0, 50);
  });
}

/** Logits in memory of the library, the same for the same step. */
function logitsOf(step: number) {
  const pointer = koffi.alloc('uint8', vocabularySize * 4) as unknown as bigint;
  const logits = new Float32Array(koffi.view(pointer, vocabularySize * 4) as ArrayBuffer);
  for (let id = 0; id < vocabularySize; id += 1) logits[id] = Math.sin(id * (step + 1.7)) * 6;
  return { pointer, logits };
}

const kinds: Readonly<Record<string, Partial<Sampling>>> = {
  greedy: { temperature: 0 },
  typical: { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05 },
  'no top-k, with a penalty': { temperature: 0.9, topK: 0, topP: 0.9, repetitionPenalty: 1.2, repetitionRange: 64 },
  DRY: { temperature: 1, dryMultiplier: 0.8, dryBase: 1.75, dryAllowedLength: 1 },
  mirostat: { mirostat: 2 },
};

describe('SamplerPool: samples the same tokens as a single thread', () => {
  test.each(Object.entries(kinds))('%s', (_, changes) => {
    const settings = { ...defaultSampling, ...changes };
    const options = { vocabularySize, contextSize, seed: 7, logitBias: [[5, 2]] as const, bannedTokens: [9] };
    const here = new Sampler(settings, options);
    const text = new Int32Array(new SharedArrayBuffer(contextSize * 4));
    const all = pool(1);
    const first = all.sampler(settings, options, text);
    const there = all.sampler(settings, options, text);
    expect(first).toBeUndefined();
    for (let step = 0; step < 12; step += 1) {
      const [mine, other] = [logitsOf(step), logitsOf(step)];
      const forbidden = step % 5 === 4 ? [text[0] as number] : [];
      there?.submit(other.pointer, step, forbidden);
      all.go();
      const expected = here.pick(mine.logits, text, step, forbidden);
      expect(there?.result()).toBe(expected);
      text[step] = expected;
    }
    all.leave(there);
  });
});

test('SamplerPool: a second submission in one step keeps the results of others on the same thread', () => {
  const options = { vocabularySize, contextSize, seed: 3, logitBias: [], bannedTokens: [] };
  const settings = { ...defaultSampling, temperature: 0.9 };
  const texts = [1, 2].map(() => new Int32Array(new SharedArrayBuffer(contextSize * 4)));
  const here = texts.map(() => new Sampler(settings, options));
  const all = pool(1);
  // The main thread takes every second one.
  const [, drafting, , waiting] = [0, 0, 1, 1].map((text) => all.sampler(settings, options, texts[text] as Int32Array));
  for (let step = 0; step < 6; step += 2) {
    const rows = [logitsOf(step), logitsOf(step + 10), logitsOf(step + 1)] as const;
    drafting?.submit(rows[0].pointer, step, []);
    waiting?.submit(rows[1].pointer, step, []);
    all.go();
    const first = drafting?.result() as number;
    (texts[0] as Int32Array)[step] = first;
    drafting?.submit(rows[2].pointer, step + 1, []);
    drafting?.go();
    const answers = [first, drafting?.result(), waiting?.result()];
    const [one, two] = here as [Sampler, Sampler];
    const picks = [one.pick(logitsOf(step).logits, texts[0] as Int32Array, step)];
    picks.push(one.pick(logitsOf(step + 1).logits, texts[0] as Int32Array, step + 1));
    picks.push(two.pick(logitsOf(step + 10).logits, texts[1] as Int32Array, step));
    expect(answers).toEqual(picks);
    for (const text of texts) text[step] = 1;
    for (const text of texts) text[step + 1] = 2;
  }
});

test('SamplerPool: the main thread gets an equal share, and a sampler that leaves makes room', () => {
  const options = { vocabularySize, contextSize, seed: 1, logitBias: [], bannedTokens: [] };
  const text = new Int32Array(new SharedArrayBuffer(contextSize * 4));
  const all = pool(2);
  const taken = Array.from({ length: 6 }, () => all.sampler(defaultSampling, options, text));
  expect(taken.filter((one) => one === undefined)).toHaveLength(2);
  all.leave(undefined);
  expect(all.sampler(defaultSampling, options, text)).toBeUndefined();
});

test('SamplerPool: a failing sampler fails only its own request', () => {
  const text = new Int32Array(new SharedArrayBuffer(contextSize * 4));
  const all = pool(1);
  const options = { vocabularySize, contextSize, seed: 1, logitBias: [], bannedTokens: [] };
  all.sampler(defaultSampling, options, text);
  const wrong = all.sampler(defaultSampling, { ...options, vocabularySize: 5 }, text);
  wrong?.submit(logitsOf(1).pointer, 0, []);
  all.go();
  expect(() => wrong?.result()).toThrow('the sampler failed');
  all.leave(wrong);
  all.leave(undefined);
  all.sampler(defaultSampling, options, text);
  const right = all.sampler(defaultSampling, options, text);
  right?.submit(logitsOf(1).pointer, 0, []);
  all.go();
  expect(right?.result()).toBeGreaterThanOrEqual(0);
});

test('samplerThreads: 0 without a GPU, with a small vocabulary or with one sequence', () => {
  const shape = { vocabularySize: 152_000, sequences: 32, gpuLayers: 25 };
  expect(samplerThreads(shape, 16)).toBe(11);
  expect(samplerThreads(shape, 4)).toBe(3);
  expect(samplerThreads({ ...shape, sequences: 1 }, 16)).toBe(0);
  expect(samplerThreads({ ...shape, gpuLayers: 0 }, 16)).toBe(0);
  expect(samplerThreads({ ...shape, vocabularySize: 300 }, 16)).toBe(0);
});
