import { beforeAll, describe, expect, test } from 'vitest';
import { defaultSettings } from '../../../config/flags.ts';
import { cosine } from '../../../core/vectors.ts';
import { loadOptions } from '../../llama/load-options.ts';
import { embeddedModel } from '../../llama/worker/testing/embedded.ts';
import type { EmbeddingOptions } from '../host.ts';
import { type EmbeddingModel, loadEmbeddingModel, PooledContexts } from './model.ts';

const watch = {
  here: <Result>(_: number, work: () => Result) => work(),
  aside: <Result>(_: number, work: () => Promise<Result>) => work(),
  serving: () => undefined,
};
const shape = { architecture: '', layers: 0, trainedContext: 0, sizeBytes: 0, cacheBytesPerToken: 0 };
const said = loadOptions(defaultSettings, { model: '', name: '', shape, threads: 1, contextSizeGiven: false });
const options: EmbeddingOptions = {
  ...said,
  model: { path: embeddedModel },
  maxTokens: 1024,
  backend: 'cpu',
  gpuLayers: 0,
};

let model: EmbeddingModel;
let contexts: PooledContexts;
const progress: number[] = [];
beforeAll(async () => {
  const tools = { progress: (fraction: number) => progress.push(fraction), note: () => undefined, watch };
  model = await loadEmbeddingModel(options, tools);
  contexts = new PooledContexts(model, options);
});

const read = (text: string) => model.vocabulary.tokenize(text, { addSpecial: true });
const compute = async (pooling: 'last' | 'none' | 'mean' | 'cls', ...texts: Int32Array[]) =>
  (await contexts.compute(pooling, texts)) ?? [];
const near = (one: Float32Array | undefined, other: Float32Array | undefined): number =>
  one && other ? cosine(one, other) : Number.NaN;

describe('PooledContexts: causal model', () => {
  test('has last pooling by default', () => {
    expect(model.causal).toBe(true);
    expect(model.facts).toMatchObject({ pooling: 'last', dimensions: 512, maxTokens: 1024, architecture: 'llama' });
    expect(model.facts.parameters).toBeGreaterThan(40e6);
    expect(progress.at(-1)).toBe(1);
  });

  test('gives a text the same vector alone and in a batch', async () => {
    const texts = ['Once upon a time', 'The bear went home.', 'x'].map(read);
    const together = await compute('last', ...texts);
    expect(together).toHaveLength(3);
    for (const [index, text] of texts.entries()) {
      const [[alone] = []] = await compute('last', text);
      expect(near(alone, together[index]?.[0])).toBeGreaterThan(0.999);
    }
  });

  test('batches do not depend on each other', async () => {
    const text = read('The bear went home.');
    const [[before] = []] = await compute('last', text);
    await compute('last', read('Something else entirely, and much longer than that.'), read('More.'));
    const [[after] = []] = await compute('last', text);
    expect(after).toEqual(before);
  });

  test('supports every pooling type', async () => {
    const text = read('The bear went home.');
    const [each = []] = await compute('none', text);
    expect(each).toHaveLength(text.length);
    const [[last] = []] = await compute('last', text);
    const [[first] = []] = await compute('cls', text);
    const [[mean] = []] = await compute('mean', text);
    expect(near(last, each.at(-1))).toBeGreaterThan(0.999);
    expect(near(first, each[0])).toBeGreaterThan(0.999);
    const sum = each.reduce((before, vector) => before.map((entry, index) => entry + (vector[index] ?? 0)));
    expect(near(mean, sum)).toBeGreaterThan(0.999);
  });

  test('computes long texts in several steps', async () => {
    const long = read('The bear went home, and then it slept. '.repeat(100)).slice(0, 600);
    const [[last] = []] = await compute('last', long);
    const [each = []] = await compute('none', long);
    expect(each).toHaveLength(600);
    expect(near(last, each.at(-1))).toBeGreaterThan(0.999);
    // That of all its tokens is computed at once, and has to be that of the steps.
    const [[mean] = []] = await compute('mean', long);
    const sum = each.reduce((before, vector) => before.map((entry, index) => entry + (vector[index] ?? 0)));
    expect(near(mean, sum)).toBeGreaterThan(0.999);
    const [[other] = []] = await compute('last', long.slice(0, 300));
    expect(near(last, other)).toBeLessThan(0.999);
  });
});

test('PooledContexts.stop: ends a batch, and the next one is computed', async () => {
  const long = read('The bear went home, and then it slept. '.repeat(100)).slice(0, 1000);
  const work = contexts.compute('last', [long]);
  contexts.stop();
  expect(await work).toBeUndefined();
  contexts.stop();
  const [[vector] = []] = await compute('last', read('Hi'));
  expect(vector).toHaveLength(512);
});
