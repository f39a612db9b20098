import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { numberOf, readGguf } from '../src/gguf/gguf.ts';
import { writeRandomModel } from './random-model.ts';
import { halfBits } from './random-weights.ts';
import { syntheticVocabulary } from './synthetic-vocabulary.ts';

const folder = mkdtempSync(join(tmpdir(), 'random-model-'));
afterAll(() => rmSync(folder, { recursive: true }));

const small = { layers: 2, width: 64, heads: 2, kvHeads: 1, feedForward: 96, vocabulary: 2000 };
const fingerprint = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

test('the default model has at least 100 million weights', async () => {
  const path = join(folder, 'default.gguf');
  const { parameters, bytes } = await writeRandomModel(path);
  expect(parameters).toBeGreaterThan(100e6);
  const header = await readGguf(path);
  expect(header).toMatchObject({ architecture: 'llama', fileSize: bytes });
  expect(header.tensors.reduce((total, { elements }) => total + elements, 0)).toBe(parameters);
  expect(numberOf(header, 'llama.vocab_size')).toBe(32_000);
  rmSync(path);
});

test('the same seed gives the same file, another seed another one', async () => {
  const paths = ['a', 'b', 'c'].map((name) => join(folder, name));
  for (const [index, path] of paths.entries()) await writeRandomModel(path, { ...small, seed: index === 2 ? 8 : 7 });
  const [first, same, other] = paths.map(fingerprint);
  expect(same).toBe(first);
  expect(other).not.toBe(first);
});

test('shapes that no model can have are refused', async () => {
  await expect(writeRandomModel(join(folder, 'x'), { width: 100 })).rejects.toThrow('multiples of 32');
  await expect(writeRandomModel(join(folder, 'x'), { heads: 5 })).rejects.toThrow('heads must divide');
  await expect(writeRandomModel(join(folder, 'x'), { vocabulary: 1_000_000 })).rejects.toThrow('at most');
});

test('the vocabulary holds every byte and no piece twice', () => {
  const { tokens, scores, types } = syntheticVocabulary(32_000);
  expect([tokens.length, scores.length, types.length, new Set(tokens).size]).toEqual([32_000, 32_000, 32_000, 32_000]);
  expect(tokens.slice(3, 259)).toContain('<0xFF>');
});

test.each([
  [0, 0],
  [1, 0x3c00],
  [-2, 0xc000],
  [0.1, 0x2e66],
  [65504, 0x7bff],
  [2 ** -14, 0x0400],
  [2 ** -15, 0x0200],
])('%d as a half float', (value, bits) => expect(halfBits(value)).toBe(bits));

const platform = process.platform === 'linux' && process.arch === 'x64' ? 'linux-x64-vulkan' : undefined;
const libraries = join(import.meta.dirname, '../node_modules/@node-llama-cpp', `${platform}/bins/${platform}`);
const available = platform !== undefined && existsSync(libraries);
if (!available) console.warn('Random models are not loaded here: the test knows llama.cpp for linux-x64 only.');

describe.skipIf(!available)('in llama.cpp', () => {
  test.each([
    ['a small one of type Q8_0', { ...small, width: 128 }],
    ['a small one of type F16', { ...small, width: 128, type: 'F16' as const }],
    ['the default one', {}],
  ])('%s loads, tokenises any text and gives finite logits', async (_, options) => {
    const path = join(folder, 'model.gguf');
    await writeRandomModel(path, options);
    const { tokens, text, logits } = decodeOnce(path, 'the small fox, naïve 日本語 🦊 {"a": 1}\n');
    expect(text).toContain('the small fox, naïve 日本語 🦊 {"a": 1}\n');
    expect(tokens.length).toBeGreaterThan(10);
    expect(logits.every(Number.isFinite)).toBe(true);
    const mean = logits.reduce((sum, value) => sum + value, 0) / logits.length;
    const deviation = Math.sqrt(logits.reduce((sum, value) => sum + (value - mean) ** 2, 0) / logits.length);
    expect(deviation).toBeGreaterThan(0.5);
    expect(deviation).toBeLessThan(10);
  });
});

/** Loads a model, decodes a text as one batch and returns the logits behind it. */
function decodeOnce(path: string, prompt: string): { tokens: Int32Array; text: string; logits: Float32Array } {
  const koffi = createRequire(import.meta.url)('koffi');
  const load = (pattern: RegExp) =>
    koffi.load(join(libraries, readdirSync(libraries).find((file) => pattern.test(file)) ?? ''));
  load(/^libggml-base\.so$/);
  const ggml = load(/^libggml\..*v\d.*\.so$/);
  const llama = load(/^libllama\..*v\d.*\.so$/);
  llama.func('void llama_log_set(void *callback, void *data)')(llama.symbol('llama_opt_param_filter_all'), null);
  ggml.func('void ggml_backend_load_all_from_path(const char *folder)')(libraries);

  const fields = (type: string, ...names: string[]) => Object.fromEntries(names.map((name) => [name, type]));
  const modelParameters = koffi.struct({
    ...fields('void *', 'devices', 'overrides'),
    ...fields('int32', 'gpuLayers', 'splitMode', 'loadMode', 'lazyMode', 'mainGpu'),
    ...fields('void *', 'tensorSplit', 'progress', 'progressData', 'metadata'),
    ...fields('bool', 'vocabularyOnly', 'check', 'extraBuffers', 'noHost', 'noAllocation', 'loadDraft'),
  });
  const contextParameters = koffi.struct({
    ...fields('uint32', 'context', 'batch', 'microBatch', 'sequences', 'recurrent', 'outputs', 'outputsEach'),
    ...fields('int32', 'threads', 'batchThreads', 'type', 'ropeScaling', 'pooling', 'attention', 'flash'),
    ...fields('float', 'ropeBase', 'ropeScale', 'yarnExtra', 'yarnAttention', 'yarnFast', 'yarnSlow'),
    ...fields('uint32', 'yarnContext'),
    ...fields('float', 'defragment'),
    ...fields('void *', 'evaluate', 'evaluateData'),
    ...fields('int32', 'typeK', 'typeV'),
    ...fields('void *', 'abort', 'abortData'),
    ...fields('bool', 'embeddings', 'offload', 'noTimes', 'offloadOperations', 'fullWindow', 'unified'),
    ...fields('void *', 'samplers'),
    ...fields('size_t', 'samplerCount'),
    ...fields('void *', 'other'),
  });
  const batch = koffi.struct({
    ...fields('int32', 'count'),
    ...fields('void *', 'tokens', 'embeddings', 'positions', 'sequenceCounts', 'sequences', 'wanted'),
  });
  const pointer = 'void *';
  const call = (name: string, result: unknown, ...parameters: unknown[]) => llama.func(name, result, parameters);

  const model = call(
    'llama_model_load_from_file',
    pointer,
    'str',
    modelParameters,
  )(path, {
    ...call('llama_model_default_params', modelParameters)(),
    gpuLayers: 0,
  });
  expect(model).toBeTruthy();
  const vocabulary = call('llama_model_get_vocab', pointer, pointer)(model);
  const bytes = Buffer.from(prompt);
  const room = new Int32Array(bytes.length + 8);
  const tokenize = llama.func(
    'int32 llama_tokenize(void *v, const void *text, int32 length, _Out_ int32 *tokens, int32 room, bool special, bool parse)',
  );
  const tokens = room.subarray(0, tokenize(vocabulary, bytes, bytes.length, room, room.length, true, false));
  const out = Buffer.alloc(bytes.length * 2);
  const detokenize = llama.func(
    'int32 llama_detokenize(void *v, int32 *tokens, int32 count, _Out_ uint8 *out, int32 room, bool remove, bool special)',
  );
  const text = out.subarray(0, detokenize(vocabulary, tokens, tokens.length, out, out.length, true, false)).toString();

  const context = call(
    'llama_init_from_model',
    pointer,
    pointer,
    contextParameters,
  )(model, {
    ...call('llama_context_default_params', contextParameters)(),
    context: 256,
    batch: 256,
    microBatch: 256,
    threads: 1,
    batchThreads: 1,
  });
  expect(context).toBeTruthy();
  // The batch keeps the address, so the tokens have to stay where they are.
  const kept = koffi.alloc('int32', tokens.length);
  koffi.encode(kept, 'int32', [...tokens], tokens.length);
  const one = call('llama_batch_get_one', batch, pointer, 'int32')(kept, tokens.length);
  expect(call('llama_decode', 'int32', pointer, batch)(context, one)).toBe(0);
  const last = call('llama_get_logits_ith', pointer, pointer, 'int32')(context, -1);
  const size = call('llama_vocab_n_tokens', 'int32', pointer)(vocabulary);
  const logits = new Float32Array(koffi.view(last, size * 4)).slice();
  call('llama_free', 'void', pointer)(context);
  call('llama_model_free', 'void', pointer)(model);
  return { tokens, text, logits };
}

test('the tokens for single bytes can be plain text, so that random output is always text', () => {
  const byteKind = 6;
  expect(syntheticVocabulary(2000).types.filter((type) => type === byteKind)).toHaveLength(256);
  expect(syntheticVocabulary(2000, 'text').types).not.toContain(byteKind);
});
