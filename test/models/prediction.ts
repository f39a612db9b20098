import { type TensorSource, writeGguf } from '../../scripts/conversion/gguf-file.ts';
import type { GgufEntry } from '../../src/gguf/gguf.ts';
import { fraction, number, text, tokenizerOf } from './entries.ts';
import { weights } from './weights.ts';

/**
 * What the layer for multi-token prediction knows: nothing (random weights), what follows the last token (and is always right), the same
 * for three of four tokens, or what follows the token after the hidden state: then only the first drafted token is right, and only
 * if it gets the right state.
 */
export type Knowledge = 'nothing' | 'token' | 'most tokens' | 'state';

/** The whole model, without that layer, or that layer alone. */
export type Part = 'whole' | 'trunk' | 'layer';

export interface PredictionSize {
  readonly width: number;
  readonly heads: number;
  readonly hidden: number;
  /** Besides the one for multi-token prediction. */
  readonly layers: number;
}

const small: PredictionSize = { width: 64, heads: 4, hidden: 64, layers: 2 };
const plain = { bias: false };
/** Below are tokens for single bytes and control tokens. */
const firstWord = 300;

/**
 * An untrained model in the manner of GLM 4.5, with a layer for multi-token prediction. Where that layer knows something, the next token mostly depends on
 * the last one; otherwise on all that was read.
 */
export async function writePredictionModel(
  path: string,
  vocabulary: string,
  knowledge: Knowledge,
  part: Part = 'whole',
  sizes = small,
): Promise<void> {
  const { width, layers } = sizes;
  const { entries, size } = await tokenizerOf(vocabulary);
  const tensors = weights(21);
  tensors.random('token_embd.weight', [size, width], 0.5);
  const embeddings = tensors.tensors[0]?.data as Float32Array;
  const follower = (token: number) => firstWord + ((token - firstWord + 37) % (size - firstWord));
  /** Rows that find the embedding of a token and answer with another token. */
  const answers = (answer: (token: number) => number | undefined): TensorSource['data'] => {
    const data = new Float32Array(size * width);
    for (let token = firstWord; token < size; token += 1) {
      const row = answer(token);
      const values = embeddings.subarray(token * width, (token + 1) * width).map((value) => (value * 21) / width);
      if (row !== undefined) data.set(values, row * width);
    }
    return data;
  };
  const table = (name: string, data: TensorSource['data']) =>
    tensors.tensors.push({ name, shape: [width, size], type: 'F32', data });
  const isTrained = knowledge !== 'nothing';
  if (isTrained) table('output.weight', answers(follower));
  else tensors.matrix('output', size, width, plain);
  tensors.norm('output_norm', width, plain);
  for (let layer = 0; layer <= layers; layer += 1) {
    const block = `blk.${layer}`;
    const isPrediction = layer === layers;
    if (part === (isPrediction ? 'trunk' : 'layer')) continue;
    const says = isTrained ? (isPrediction ? 0 : 0.02) : 1;
    writeBlock(tensors, block, sizes, says);
    if (!isPrediction) continue;
    for (const name of ['enorm', 'hnorm', 'shared_head_norm']) tensors.norm(`${block}.nextn.${name}`, width, plain);
    const projection = `${block}.nextn.eh_proj`;
    if (!isTrained) tensors.matrix(projection, width, 2 * width, plain);
    else tensors.tensors.push(half(`${projection}.weight`, width, knowledge === 'state' ? width : 0));
    const head = `${block}.nextn.shared_head_head.weight`;
    if (knowledge === 'state')
      table(
        head,
        answers((token) => follower(follower(token))),
      );
    if (knowledge === 'most tokens')
      table(
        head,
        answers((token) => (token % 4 === 0 ? undefined : follower(token))),
      );
  }
  await writeGguf(path, { metadata: { ...metadata(sizes), ...entries }, tensors: tensors.tensors });
}

/** Takes over the embedding of the token, or the hidden state after it. */
function half(name: string, width: number, start: number): TensorSource {
  const data = new Float32Array(2 * width * width);
  for (let row = 0; row < width; row += 1) data[row * 2 * width + start + row] = 1;
  return { name, shape: [2 * width, width], type: 'F32', data };
}

/** Attention and two experts, of which one computes; `says`: how much they add. */
function writeBlock(
  tensors: ReturnType<typeof weights>,
  block: string,
  { width, heads, hidden }: PredictionSize,
  says: number,
): void {
  const { matrix, norm, random, constant } = tensors;
  norm(`${block}.attn_norm`, width, plain);
  norm(`${block}.post_attention_norm`, width, plain);
  for (const part of ['attn_q', 'attn_k', 'attn_v']) matrix(`${block}.${part}`, width, width, plain);
  for (const part of ['attn_q_norm', 'attn_k_norm']) constant(`${block}.${part}.weight`, [width / heads], 1.5);
  const spread = says * Math.sqrt(3 / width);
  random(`${block}.attn_output.weight`, [width, width], spread);
  matrix(`${block}.ffn_gate_inp`, 2, width, plain);
  random(`${block}.exp_probs_b.bias`, [2], 0.1);
  for (const part of ['ffn_gate_exps', 'ffn_up_exps'])
    random(`${block}.${part}.weight`, [2, hidden, width], Math.sqrt(3 / width));
  random(`${block}.ffn_down_exps.weight`, [2, width, hidden], spread);
  for (const part of ['ffn_gate_shexp', 'ffn_up_shexp']) matrix(`${block}.${part}`, hidden, width, plain);
  random(`${block}.ffn_down_shexp.weight`, [width, hidden], spread);
}

function metadata({ width, heads, hidden, layers }: PredictionSize): Record<string, GgufEntry> {
  const entries: Record<string, GgufEntry> = {
    context_length: number(4096),
    embedding_length: number(width),
    block_count: number(layers + 1),
    nextn_predict_layers: number(1),
    feed_forward_length: number(hidden),
    leading_dense_block_count: number(0),
    expert_count: number(2),
    expert_used_count: number(1),
    expert_shared_count: number(1),
    expert_feed_forward_length: number(hidden),
    expert_weights_scale: fraction(1),
    'attention.head_count': number(heads),
    'attention.head_count_kv': number(heads),
    'attention.key_length': number(width / heads),
    'attention.value_length': number(width / heads),
    'attention.layer_norm_rms_epsilon': fraction(1e-6),
    'rope.freq_base': fraction(10_000),
    'rope.dimension_count': number(width / heads),
  };
  const prefixed = Object.entries(entries).map(([key, entry]) => [`glm4moe.${key}`, entry]);
  return { 'general.architecture': text('glm4moe'), ...Object.fromEntries(prefixed) };
}
