import { describe, expect, test } from 'vitest';
import type { GgufEntry, GgufTensor } from '../../gguf/gguf.ts';
import { defaultMemory, modelMemory, modelShape } from './model-shape.ts';

type Value = number | readonly (number | boolean)[];

/** The shape of a model whose header says this, without the name of its architecture. */
function shapeOf(
  architecture: string,
  facts: Readonly<Record<string, Value>>,
  tensors: readonly [string, number][] = [],
) {
  const entry = (value: Value): GgufEntry =>
    typeof value === 'number'
      ? { type: 'uint32', value }
      : { type: 'array', value: { type: 'int32', length: value.length, values: value } };
  const metadata = new Map(Object.entries(facts).map(([key, value]) => [`${architecture}.${key}`, entry(value)]));
  const list = tensors.map(([name, bytes]) => ({ name, bytes }) as GgufTensor);
  return modelShape({ architecture, metadata, tensors: list });
}

const megabytes = (bytes: number) => Math.round((bytes / 2 ** 20) * 10) / 10;
const attention = (heads: number, keyHeads: Value, length: number) => ({
  'attention.head_count': heads,
  'attention.head_count_kv': keyHeads,
  'attention.key_length': length,
  'attention.value_length': length,
});

const qwen8b = {
  ...{
    block_count: 36,
    context_length: 40_960,
    embedding_length: 4096,
    feed_forward_length: 12_288,
    vocab_size: 151_936,
  },
  ...attention(32, 8, 128),
};
const gptOss = {
  block_count: 24,
  embedding_length: 2880,
  'attention.sliding_window': 128,
  ...attention(64, 8, 64),
};
const lfm2 = {
  block_count: 4,
  embedding_length: 64,
  'shortconv.l_cache': 3,
  ...attention(4, [0, 4, 0, 4], 16),
};
const qwen27b = {
  block_count: 64,
  embedding_length: 5120,
  full_attention_interval: 4,
  'ssm.conv_kernel': 4,
  'ssm.inner_size': 6144,
  'ssm.state_size': 128,
  'ssm.group_count': 16,
  ...attention(24, 4, 256),
};
const deepseek = {
  block_count: 61,
  embedding_length: 7168,
  'attention.key_length_mla': 192,
  'attention.value_length_mla': 128,
  ...attention(128, 1, 576),
};
const gemma4 = {
  block_count: 4,
  embedding_length: 256,
  'attention.sliding_window': 512,
  'attention.shared_kv_layers': 1,
  'attention.sliding_window_pattern': [true, true, false, true],
  'attention.key_length_swa': 32,
  'attention.value_length_swa': 32,
  ...attention(4, 2, 64),
};

describe('modelShape: KV cache', () => {
  test.each([
    ['grouped heads', 'qwen3', qwen8b, 144 * 1024, undefined, 0],
    ['a window in every second layer', 'gpt-oss', gptOss, 24 * 1024, { bytesPerToken: 24 * 1024, tokens: 128 }, 0],
    ['convolutions instead of attention', 'lfm2', lfm2, 2 * 2 * 4 * 32, undefined, 2 * 4 * 64 * 2],
    ['three of four layers recurrent', 'qwen35', qwen27b, 64 * 1024, undefined, 48 * 4 * (128 * 6144 + 3 * 10_240)],
    ['one compressed key for all heads', 'deepseek2', deepseek, 61 * 576 * 2, undefined, 0],
    [
      'a list of windows, shared layers',
      'gemma4',
      gemma4,
      2 * 2 * 128,
      { bytesPerToken: 2 * 2 * 2 * 64, tokens: 512 },
      0,
    ],
    ['an encoder', 'bert', { block_count: 6, ...attention(12, 12, 32) }, 0, undefined, 0],
    ['a window that the library ignores', 'llama', { ...gptOss, block_count: 1 }, 2048, undefined, 0],
  ])('%s', (_, architecture, facts, cacheBytesPerToken, window, stateBytes) => {
    const shape = shapeOf(architecture, facts);
    expect(shape).toMatchObject({ cacheBytesPerToken, stateBytes });
    expect(shape.window).toEqual(window);
  });

  test('an absurd number of layers is bounded', () => {
    expect(shapeOf('llama', { block_count: 4e9 }).layers).toBe(512);
  });
});

test('modelShape: experts are read in part, and input embeddings stay in main memory', () => {
  const facts = { block_count: 1, expert_count: 8, expert_used_count: 2 };
  const tensors: [string, number][] = [
    ['token_embd.weight', 100],
    ['output.weight', 100],
    ['blk.0.attn_q.weight', 10],
    ['blk.0.ffn_up_exps.weight', 800],
  ];
  expect(shapeOf('qwen3moe', facts, tensors)).toMatchObject({ sizeBytes: 1010, hostBytes: 100, activeBytes: 310 });
  expect(shapeOf('qwen3moe', facts, tensors.toSpliced(1, 1))).toMatchObject({ hostBytes: 0, activeBytes: 310 });
});

describe('modelMemory', () => {
  const memory = (facts: Readonly<Record<string, Value>>, architecture: string, own: object) => {
    const { cacheBytes, computeBytes } = modelMemory(shapeOf(architecture, facts), {
      ...defaultMemory,
      contextSize: 8192,
      ...own,
    });
    return { cache: megabytes(cacheBytes), compute: megabytes(computeBytes) };
  };

  // The figures of llama.cpp for models of these shapes.
  test.each([
    ['a context of 8192', {}, { cache: 1152, compute: 312.8 }],
    ['a quantised cache', { cacheType: 'q8_0' }, { cache: 612, compute: 312.8 }],
    ['four sequences', { sequences: 4, contextSize: 4096 }, { cache: 2304, compute: 312.8 }],
    ['a smaller batch', { microBatchSize: 128, contextSize: 4096 }, { cache: 576, compute: 78.2 }],
    ['no flash attention', { flashAttention: false, contextSize: 16_384 }, { cache: 2304, compute: 1100 }],
  ])('qwen3 8B, %s', (_, own, expected) => {
    expect(memory(qwen8b, 'qwen3', own)).toEqual(expected);
  });

  test('a window needs its own cells and those of a batch', () => {
    expect(memory(gptOss, 'gpt-oss', {}).cache).toBe(192 + 18);
    expect(memory(gptOss, 'gpt-oss', { fullSlidingWindow: true }).cache).toBe(384);
    expect(memory(gptOss, 'gpt-oss', { contextSize: 256 }).cache).toBe(12);
  });

  test('recurrent states are those of each sequence', () => {
    expect(memory(qwen27b, 'qwen35', { contextSize: 256, sequences: 2 }).cache).toBe(32 + 2 * 149.6 + 0.1);
  });
});
