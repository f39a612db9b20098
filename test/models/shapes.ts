import { arrayEntry } from '../../scripts/conversion/gguf-file.ts';
import type { GgufEntry } from '../../src/gguf/gguf.ts';
import { fraction, number, text } from './entries.ts';

/** The sizes of a model. */
export interface Dimensions {
  readonly vocabulary: number;
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly keyHeads: number;
  readonly headSize: number;
  readonly hidden: number;
}

/** Its file without weights: shapes as in the file, the first side contiguous. */
export interface ModelContent {
  readonly metadata: Record<string, GgufEntry>;
  readonly tensors: { readonly name: string; readonly shape: readonly number[] }[];
}

const trainedContext = 131_072;

function begin(name: string, { vocabulary, layers, width, heads, keyHeads, headSize, hidden }: Dimensions) {
  const tensors: { name: string; shape: readonly number[] }[] = [];
  const add = (tensor: string, ...shape: number[]) => tensors.push({ name: `${tensor}.weight`, shape });
  add('token_embd', width, vocabulary);
  add('output_norm', width);
  const entries = {
    context_length: number(trainedContext),
    embedding_length: number(width),
    block_count: number(layers),
    feed_forward_length: number(hidden),
    'attention.head_count': number(heads),
    'attention.head_count_kv': number(keyHeads),
    'attention.key_length': number(headSize),
    'attention.value_length': number(headSize),
    'attention.layer_norm_rms_epsilon': fraction(1e-6),
    'rope.freq_base': fraction(10_000),
    'rope.dimension_count': number(headSize),
  };
  const metadata: Record<string, GgufEntry> = { 'general.architecture': text(name) };
  const set = (more: Readonly<Record<string, GgufEntry>>) => {
    for (const [key, entry] of Object.entries(more)) metadata[`${name}.${key}`] = entry;
  };
  set(entries);
  return { content: { metadata, tensors }, add, set };
}

type Add = ReturnType<typeof begin>['add'];

function attention(add: Add, block: string, { width, heads, keyHeads, headSize }: Dimensions, { norms = true } = {}) {
  add(`${block}.attn_norm`, width);
  add(`${block}.attn_q`, width, heads * headSize);
  for (const part of ['attn_k', 'attn_v']) add(`${block}.${part}`, width, keyHeads * headSize);
  add(`${block}.attn_output`, heads * headSize, width);
  if (norms) for (const part of ['attn_q_norm', 'attn_k_norm']) add(`${block}.${part}`, headSize);
}

function feedForward(add: Add, block: string, { width, hidden }: Dimensions) {
  add(`${block}.ffn_norm`, width);
  for (const part of ['ffn_gate', 'ffn_up']) add(`${block}.${part}`, width, hidden);
  add(`${block}.ffn_down`, hidden, width);
}

function experts(add: Add, block: string, { width }: Dimensions, { count, hidden }: { count: number; hidden: number }) {
  add(`${block}.ffn_norm`, width);
  add(`${block}.ffn_gate_inp`, width, count);
  for (const part of ['ffn_gate_exps', 'ffn_up_exps']) add(`${block}.${part}`, width, hidden, count);
  add(`${block}.ffn_down_exps`, hidden, width, count);
}

const blocks = ({ layers }: Dimensions) => Array.from({ length: layers }, (_, layer) => `blk.${layer}`);

/** As many key heads as query heads, or fewer; an output matrix of its own. */
export function llamaModel(size: Dimensions): ModelContent {
  const { content, add } = begin('llama', size);
  add('output', size.width, size.vocabulary);
  for (const block of blocks(size)) {
    attention(add, block, size, { norms: false });
    feedForward(add, block, size);
  }
  return content;
}

/** In the manner of Qwen 3; the output matrix is that of the input. */
export function qwen3Model(size: Dimensions): ModelContent {
  const { content, add } = begin('qwen3', size);
  for (const block of blocks(size)) {
    attention(add, block, size);
    feedForward(add, block, size);
  }
  return content;
}

/** In the manner of Gemma 3: five of six layers see a window. */
export function gemma3Model(size: Dimensions, window: number): ModelContent {
  const { content, add, set } = begin('gemma3', size);
  set({ 'attention.sliding_window': number(window) });
  for (const block of blocks(size)) {
    attention(add, block, size);
    feedForward(add, block, size);
    for (const part of ['post_attention_norm', 'post_ffw_norm']) add(`${block}.${part}`, size.width);
  }
  return content;
}

interface Experts {
  readonly count: number;
  readonly used: number;
  readonly hidden: number;
}

/** In the manner of Qwen 3 with experts. */
export function qwen3moeModel(size: Dimensions, { count, used, hidden }: Experts): ModelContent {
  const { content, add, set } = begin('qwen3moe', size);
  set({ expert_count: number(count), expert_used_count: number(used), expert_feed_forward_length: number(hidden) });
  add('output', size.width, size.vocabulary);
  for (const block of blocks(size)) {
    attention(add, block, size);
    experts(add, block, size, { count, hidden });
  }
  return content;
}

/** In the manner of LFM2: every second layer is a short convolution, which has a state instead of a cache. */
export function lfm2Model(size: Dimensions): ModelContent {
  const { content, add, set } = begin('lfm2', size);
  const { width, keyHeads, layers } = size;
  const heads = Array.from({ length: layers }, (_, layer) => (layer % 2) * keyHeads);
  set({
    vocab_size: number(size.vocabulary),
    'attention.head_count_kv': arrayEntry('int32', heads),
    'shortconv.l_cache': number(3),
  });
  content.tensors.splice(1, 1);
  add('token_embd_norm', width);
  for (const [layer, block] of blocks(size).entries()) {
    feedForward(add, block, size);
    if (layer % 2 === 1) {
      attention(add, block, size);
    } else {
      add(`${block}.attn_norm`, width);
      add(`${block}.shortconv.conv`, 3, width);
      add(`${block}.shortconv.in_proj`, width, 3 * width);
      add(`${block}.shortconv.out_proj`, width, width);
    }
  }
  return content;
}

/** In the manner of Qwen 3.5: three of four layers are recurrent. */
export function qwen35Model(
  size: Dimensions,
  { state, groups, inner }: { state: number; groups: number; inner: number },
): ModelContent {
  const { content, add, set } = begin('qwen35', size);
  const { width, heads, keyHeads, headSize } = size;
  const rank = inner / state;
  set({
    'ssm.conv_kernel': number(4),
    'ssm.inner_size': number(inner),
    'ssm.state_size': number(state),
    'ssm.time_step_rank': number(rank),
    'ssm.group_count': number(groups),
    'rope.dimension_sections': arrayEntry('int32', [11, 11, 10, 0]),
    full_attention_interval: number(4),
  });
  add('output', width, size.vocabulary);
  for (const [layer, block] of blocks(size).entries()) {
    add(`${block}.attn_norm`, width);
    add(`${block}.post_attention_norm`, width);
    if (layer % 4 === 3) {
      add(`${block}.attn_q`, width, 2 * heads * headSize);
      for (const part of ['attn_k', 'attn_v']) add(`${block}.${part}`, width, keyHeads * headSize);
      add(`${block}.attn_output`, heads * headSize, width);
      for (const part of ['attn_q_norm', 'attn_k_norm']) add(`${block}.${part}`, headSize);
    } else {
      const mixed = 2 * groups * state + inner;
      add(`${block}.attn_qkv`, width, mixed);
      add(`${block}.attn_gate`, width, inner);
      add(`${block}.ssm_conv1d`, 4, mixed);
      content.tensors.push({ name: `${block}.ssm_dt.bias`, shape: [rank] }, { name: `${block}.ssm_a`, shape: [rank] });
      for (const part of ['ssm_beta', 'ssm_alpha']) add(`${block}.${part}`, width, rank);
      add(`${block}.ssm_norm`, state);
      add(`${block}.ssm_out`, inner, width);
    }
    for (const part of ['ffn_gate', 'ffn_up']) add(`${block}.${part}`, width, size.hidden);
    add(`${block}.ffn_down`, size.hidden, width);
  }
  return content;
}

/** In the manner of DeepSeek 3: one compressed key for all heads (MLA), and experts behind the first layer. */
export function deepseek2Model(size: Dimensions, { count, used, hidden }: Experts): ModelContent {
  const { content, add, set } = begin('deepseek2', size);
  const { width, heads, headSize, hidden: dense } = size;
  const [rank, rope] = [4 * headSize, headSize / 2];
  set({
    'attention.head_count_kv': number(1),
    'attention.key_length': number(rank + rope),
    'attention.value_length': number(rank),
    'attention.key_length_mla': number(headSize + rope),
    'attention.value_length_mla': number(headSize),
    'attention.kv_lora_rank': number(rank),
    'attention.q_lora_rank': number(width / 2),
    'rope.dimension_count': number(rope),
    leading_dense_block_count: number(1),
    expert_count: number(count),
    expert_used_count: number(used),
    expert_shared_count: number(1),
    expert_feed_forward_length: number(hidden),
    expert_weights_scale: fraction(1),
  });
  add('output', width, size.vocabulary);
  for (const [layer, block] of blocks(size).entries()) {
    add(`${block}.attn_norm`, width);
    add(`${block}.attn_q_a_norm`, width / 2);
    add(`${block}.attn_kv_a_norm`, rank);
    add(`${block}.attn_q_a`, width, width / 2);
    add(`${block}.attn_q_b`, width / 2, heads * (headSize + rope));
    add(`${block}.attn_kv_a_mqa`, width, rank + rope);
    add(`${block}.attn_k_b`, headSize, rank, heads);
    add(`${block}.attn_v_b`, rank, headSize, heads);
    add(`${block}.attn_output`, heads * headSize, width);
    if (layer === 0) {
      feedForward(add, block, { ...size, hidden: dense });
      continue;
    }
    experts(add, block, size, { count, hidden });
    for (const part of ['ffn_gate_shexp', 'ffn_up_shexp']) add(`${block}.${part}`, width, hidden);
    add(`${block}.ffn_down_shexp`, hidden, width);
  }
  return content;
}
