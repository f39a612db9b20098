import { arrayEntry, writeGguf } from '../../scripts/conversion/gguf-file.ts';
import type { GgufEntry } from '../../src/gguf/gguf.ts';
import { fraction, number, text, tokenizerOf } from './entries.ts';
import { weights } from './weights.ts';

/**
 * Untrained models with the tokens and the chat template of the model at `vocabulary`. Their text is nonsense, but it depends on
 * all that they have read. The memory of all but the plain one cannot simply forget its end.
 */
type WriteModel = (path: string, vocabulary: string) => Promise<void>;

const [width, heads, hidden] = [64, 4, 128];
const plain = { bias: false };

const shared = (name: string, layers: number): Record<string, GgufEntry> => ({
  'general.architecture': text(name),
  [`${name}.context_length`]: number(4096),
  [`${name}.embedding_length`]: number(width),
  [`${name}.block_count`]: number(layers),
  [`${name}.attention.layer_norm_rms_epsilon`]: fraction(1e-6),
});

const feedForward = ({ matrix, norm }: ReturnType<typeof weights>, block: string): void => {
  norm(`${block}.ffn_norm`, width, plain);
  for (const part of ['ffn_gate', 'ffn_up']) matrix(`${block}.${part}`, hidden, width, plain);
  matrix(`${block}.ffn_down`, width, hidden, plain);
};

const attention = ({ matrix, constant }: ReturnType<typeof weights>, block: string): void => {
  for (const part of ['attn_q', 'attn_k', 'attn_v', 'attn_output']) matrix(`${block}.${part}`, width, width, plain);
  // Sharp enough that single tokens matter, also those far back.
  for (const part of ['attn_q_norm', 'attn_k_norm']) constant(`${block}.${part}.weight`, [width / heads], 1.5);
};

/** How far most layers of the sliding-window model see. */
export const windowTokens = 32;

/** In the manner of Gemma 3: five layers see a window, the sixth sees everything. */
export const writeWindowModel: WriteModel = async (path, vocabulary) => {
  const { entries, size } = await tokenizerOf(vocabulary);
  const layers = 6;
  const tensors = weights(11);
  tensors.random('token_embd.weight', [size, width], 0.5);
  tensors.matrix('output', size, width, plain);
  tensors.norm('output_norm', width, plain);
  for (let layer = 0; layer < layers; layer += 1) {
    const block = `blk.${layer}`;
    attention(tensors, block);
    feedForward(tensors, block);
    tensors.norm(`${block}.attn_norm`, width, plain);
    // The embedding of the last token is large in this family; what the layers add must not drown in it.
    for (const part of ['post_attention_norm', 'post_ffw_norm'])
      tensors.constant(`${block}.${part}.weight`, [width], 6);
  }
  const metadata = {
    ...shared('gemma3', layers),
    'gemma3.feed_forward_length': number(hidden),
    'gemma3.attention.head_count': number(heads),
    'gemma3.attention.head_count_kv': number(heads),
    'gemma3.attention.key_length': number(width / heads),
    'gemma3.attention.value_length': number(width / heads),
    'gemma3.attention.sliding_window': number(windowTokens),
    'gemma3.rope.freq_base': fraction(10_000),
    ...entries,
  };
  await writeGguf(path, { metadata, tensors: tensors.tensors });
};

/** In the manner of LFM2: one layer with a short convolution, one with attention, and the same again. */
export const writeHybridModel: WriteModel = async (path, vocabulary) => {
  const { entries, size } = await tokenizerOf(vocabulary);
  const layers = 4;
  const tensors = weights(12);
  tensors.random('token_embd.weight', [size, width], 0.5);
  tensors.norm('token_embd_norm', width, plain);
  for (let layer = 0; layer < layers; layer += 1) {
    const block = `blk.${layer}`;
    tensors.norm(`${block}.attn_norm`, width, plain);
    feedForward(tensors, block);
    if (layer % 2 === 1) {
      attention(tensors, block);
    } else {
      tensors.random(`${block}.shortconv.conv.weight`, [width, 3], 1);
      tensors.matrix(`${block}.shortconv.in_proj`, 3 * width, width, plain);
      tensors.matrix(`${block}.shortconv.out_proj`, width, width, plain);
    }
  }
  const metadata = {
    ...shared('lfm2', layers),
    'lfm2.vocab_size': number(size),
    'lfm2.feed_forward_length': number(hidden),
    'lfm2.attention.head_count': number(heads),
    'lfm2.attention.head_count_kv': arrayEntry('int32', [0, heads, 0, heads]),
    'lfm2.shortconv.l_cache': number(3),
    'lfm2.rope.freq_base': fraction(10_000),
    ...entries,
  };
  await writeGguf(path, { metadata, tensors: tensors.tensors });
};

/** In the manner of Mamba: nothing but a state, which fades slowly. */
export const writeRecurrentModel: WriteModel = async (path, vocabulary) => {
  const { entries, size } = await tokenizerOf(vocabulary);
  const [layers, inner, state, rank, kernel] = [2, 2 * width, 16, 4, 4];
  const tensors = weights(13);
  tensors.random('token_embd.weight', [size, width], 0.5);
  tensors.norm('output_norm', width, plain);
  for (let layer = 0; layer < layers; layer += 1) {
    const block = `blk.${layer}`;
    tensors.norm(`${block}.attn_norm`, width, plain);
    tensors.matrix(`${block}.ssm_in`, 2 * inner, width, plain);
    tensors.random(`${block}.ssm_conv1d.weight`, [inner, kernel], 1);
    tensors.random(`${block}.ssm_conv1d.bias`, [inner], 0.1);
    tensors.matrix(`${block}.ssm_x`, rank + 2 * state, inner, plain);
    tensors.random(`${block}.ssm_dt.weight`, [inner, rank], 0.1);
    tensors.constant(`${block}.ssm_dt.bias`, [inner], -4);
    tensors.constant(`${block}.ssm_a`, [inner, state], -0.5);
    tensors.constant(`${block}.ssm_d`, [inner], 1);
    tensors.matrix(`${block}.ssm_out`, width, inner, plain);
  }
  const metadata = {
    ...shared('mamba', layers),
    'mamba.feed_forward_length': number(0),
    'mamba.attention.head_count': number(0),
    'mamba.ssm.conv_kernel': number(kernel),
    'mamba.ssm.inner_size': number(inner),
    'mamba.ssm.state_size': number(state),
    'mamba.ssm.time_step_rank': number(rank),
    ...entries,
  };
  await writeGguf(path, { metadata, tensors: tensors.tensors });
};

/** In the manner of Qwen 3: every layer sees everything. It computes in a fraction of the time of a trained model. */
export const writePlainModel: WriteModel = async (path, vocabulary) => {
  const { entries, size } = await tokenizerOf(vocabulary);
  const layers = 2;
  const tensors = weights(14);
  tensors.random('token_embd.weight', [size, width], 0.5);
  tensors.norm('output_norm', width, plain);
  for (let layer = 0; layer < layers; layer += 1) {
    const block = `blk.${layer}`;
    tensors.norm(`${block}.attn_norm`, width, plain);
    attention(tensors, block);
    feedForward(tensors, block);
  }
  const metadata = {
    ...shared('qwen3', layers),
    'qwen3.feed_forward_length': number(hidden),
    'qwen3.attention.head_count': number(heads),
    'qwen3.attention.head_count_kv': number(heads),
    'qwen3.attention.key_length': number(width / heads),
    'qwen3.attention.value_length': number(width / heads),
    'qwen3.rope.freq_base': fraction(10_000),
    ...entries,
  };
  await writeGguf(path, { metadata, tensors: tensors.tensors });
};
