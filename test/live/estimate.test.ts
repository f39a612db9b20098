import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { writeGguf } from '../../scripts/conversion/gguf-file.ts';
import { defaultSettings, type Settings } from '../../src/config/flags.ts';
import { spawnChild } from '../../src/engines/host/child.ts';
import { type LoadOptions, loadOptions, type ModelFile, readModelFile } from '../../src/engines/llama/load-options.ts';
import type { FromWorker, ToWorker } from '../../src/engines/llama/messages.ts';
import { defaultMemory, type MemoryOptions, modelMemory } from '../../src/engines/llama/model-shape.ts';
import { Random } from '../../src/sampling/random.ts';
import { tokenizerOf } from '../models/entries.ts';
import * as models from '../models/shapes.ts';
import { embeddedModel, program } from './server.ts';

/** The estimate of the memory of a model, compared with what llama.cpp says that it has allocated. */
const folder = mkdtempSync(join(tmpdir(), 'parley-estimate-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const { entries, size: vocabulary } = await tokenizerOf(embeddedModel);
const size = { vocabulary, layers: 6, width: 384, heads: 6, keyHeads: 6, headSize: 64, hidden: 1024 };
const grouped = { ...size, keyHeads: 2 };
const experts = { count: 8, used: 2, hidden: 384 };
const contents = {
  'llama, a key head for each head': models.llamaModel(size),
  'qwen3, grouped heads': models.qwen3Model({ ...grouped, layers: 8 }),
  'gemma3, sliding windows': models.gemma3Model({ ...grouped, layers: 12 }, 512),
  'qwen3moe, experts': models.qwen3moeModel(grouped, experts),
  'lfm2, convolutions': models.lfm2Model(grouped),
  'qwen35, recurrent layers': models.qwen35Model({ ...grouped, layers: 8 }, { state: 64, groups: 4, inner: 512 }),
  'deepseek2, compressed keys': models.deepseek2Model(size, experts),
};
type Name = keyof typeof contents;

const random = new Random(7);
const noise = Float32Array.from({ length: 1 << 16 }, () => (random.next() - 0.5) * 0.1);
const bytesOfNoise = new Uint8Array(noise.buffer);

function* noisy(bytes: number): Iterable<Uint8Array> {
  for (let remaining = bytes; remaining > 0; remaining -= bytesOfNoise.length)
    yield bytesOfNoise.subarray(0, remaining);
}

async function write(name: Name): Promise<string> {
  const path = join(folder, `${name.split(',')[0]}.gguf`);
  const { metadata, tensors } = contents[name];
  await writeGguf(path, {
    metadata: { ...metadata, ...entries },
    tensors: tensors.map(({ name: tensor, shape }) => ({
      name: tensor,
      shape,
      type: 'F32',
      data: () => noisy(4 * shape.reduce((product, side) => product * side, 1)),
    })),
  });
  return path;
}

const megabyte = 2 ** 20;

/** The sizes of all buffers of a kind, in bytes. */
function allocated(output: string, kind: string): number {
  const sizes = [...output.matchAll(new RegExp(`(?<!_REPACK) ${kind} buffer size = +([\\d.]+) MiB`, 'g'))];
  return sizes.reduce((sum, [, size]) => sum + Number(size) * megabyte, 0);
}

const worker = join(dirname(program), 'engines/llama/worker/main.js');

/** What the process of the engine writes while it loads the model. */
function loadLog(options: LoadOptions): Promise<string> {
  const lines: string[] = [];
  return new Promise((resolve, reject) => {
    let problem = 'it ended early';
    const child = spawnChild<ToWorker, FromWorker>(worker, {
      line: (line) => lines.push(line),
      message: (message) => {
        if (message.type === 'load-failed') problem = String(message.reason);
        if (message.type === 'loaded') problem = '';
        if (message.type === 'loaded' || message.type === 'load-failed') child.kill();
      },
      exit: () =>
        problem === '' ? resolve(lines.join('\n')) : reject(new Error(`${problem}\n${lines.slice(-9).join('\n')}`)),
    });
    child.send({ type: 'load', options });
  });
}

async function measured(file: ModelFile, settings: Partial<Settings>) {
  const facts = { model: file.path, name: 'random', shape: file.shape, threads: 1, contextSizeGiven: true };
  const output = await loadLog(
    loadOptions({ ...defaultSettings, usecpu: true, contextsize: 8192, ...settings }, facts),
  );
  return {
    weightBytes: allocated(output, 'model'),
    cacheBytes: allocated(output, 'KV') + allocated(output, 'RS'),
    computeBytes: allocated(output, 'compute'),
  };
}

async function compare(name: Name, settings: Partial<Settings>, options: Partial<MemoryOptions>) {
  const file = await readModelFile(await write(name));
  const estimate = modelMemory(file.shape, { ...defaultMemory, contextSize: 8192, ...options });
  const actual = await measured(file, settings);
  const total = ({ weightBytes, cacheBytes, computeBytes }: typeof actual) => weightBytes + cacheBytes + computeBytes;
  if (process.env.PARLEY_TEST_TABLE) {
    const cells = [estimate, actual].flatMap((one) => [...Object.values(one), total(one)]);
    const columns = cells.map((bytes) => (bytes / megabyte).toFixed(1));
    console.info(
      `| ${[name, ...columns, `${((total(estimate) / total(actual) - 1) * 100).toFixed(1)} %`].join(' | ')} |`,
    );
  }
  return { estimate, actual, ratio: total(estimate) / total(actual) };
}

describe('modelMemory: within 10 % of what llama.cpp allocates', () => {
  test.each(Object.keys(contents) as Name[])('%s', async (name) => {
    const { estimate, actual, ratio } = await compare(name, {}, {});
    expect(ratio).toBeGreaterThan(0.9);
    expect(ratio).toBeLessThan(1.1);
    expect(estimate.weightBytes / actual.weightBytes).toBeCloseTo(1, 1);
    expect(estimate.cacheBytes / actual.cacheBytes).toBeCloseTo(1, 1);
  });

  test.each<[string, Partial<Settings>, Partial<MemoryOptions>]>([
    ['a long context', { contextsize: 32_768 }, { contextSize: 32_768 }],
    ['four sequences', { parallelrequests: 4 }, { sequences: 4 }],
    [
      'a pool for four sequences',
      { parallelrequests: 4, kvpool: 16_384 },
      { sequences: 4, shared: true, cellPool: 16_384 },
    ],
    ['a quantised cache', { quantkv: 'q8_0' }, { cacheType: 'q8_0' }],
    ['no flash attention', { noflashattention: true }, { flashAttention: false }],
    ['no windows', { noswa: true }, { fullSlidingWindow: true }],
  ])('gemma3 with %s', async (_, settings, options) => {
    const { ratio } = await compare('gemma3, sliding windows', settings, options);
    expect(ratio).toBeGreaterThan(0.9);
    expect(ratio).toBeLessThan(1.1);
  });
});
