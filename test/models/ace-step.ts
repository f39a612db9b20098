import { join } from 'node:path';
import { arrayEntry, type TensorSource, writeGguf } from '../../scripts/conversion/gguf-file.ts';
import { type GgufEntry, tensorTypes } from '../../src/gguf/gguf.ts';
import { Random } from '../../src/sampling/random.ts';
import { fraction, number, text } from './entries.ts';
import { halfBits } from './weights.ts';

/** Sizes of a transformer: `heads` for queries, `keyHeads` for keys and values. */
interface Transformer {
  readonly width: number;
  readonly inner: number;
  readonly heads: number;
  readonly keyHeads: number;
  readonly headWidth: number;
}

/** As small as the engine accepts: it reads the sizes of the language model and the diffusion model, the others are fixed. */
const small = {
  text: { width: 1024, inner: 64, heads: 16, keyHeads: 8, headWidth: 128 },
  lm: { width: 64, inner: 64, heads: 2, keyHeads: 1, headWidth: 128 },
  encoder: { width: 2048, inner: 64, heads: 16, keyHeads: 8, headWidth: 128 },
  dit: { width: 64, inner: 64, heads: 2, keyHeads: 1, headWidth: 128 },
  vae: [2048, 1024, 512, 256, 128, 128],
} as const;
/** The first ids after the text tokens of Qwen3 are control tokens, then come the audio codes. */
const [textTokens, controlTokens, allTokens] = [151_643, 151_669, 217_204];
const [latentWidth, patch, codeDimensions] = [64, 2, 6];

export interface AceStepFiles {
  readonly embeddings: string;
  readonly llm: string;
  readonly diffusion: string;
  readonly vae: string;
}

export function aceStepFiles(folder: string): AceStepFiles {
  return {
    embeddings: join(folder, 'Qwen3-Embedding-random.gguf'),
    llm: join(folder, 'acestep-5Hz-lm-random.gguf'),
    diffusion: join(folder, 'acestep-v15-turbo-random.gguf'),
    vae: join(folder, 'vae-random.gguf'),
  };
}

/** Writes an ACE-Step 1.5 model with random weights. */
export async function writeAceStep({ embeddings, llm, diffusion: dit, vae: decoder }: AceStepFiles): Promise<void> {
  const withTokenizer = (name: string) => ({ ...architecture(name), ...tokenizer() });
  await writeGguf(embeddings, { metadata: withTokenizer('acestep-text-enc'), tensors: textEncoder() });
  await writeGguf(llm, { metadata: withTokenizer('acestep-lm'), tensors: languageModel() });
  await writeGguf(dit, { metadata: diffusionMetadata(), tensors: diffusion() });
  await writeGguf(decoder, { metadata: architecture('acestep-vae'), tensors: vae() });
}

const architecture = (name: string): Record<string, GgufEntry> => ({ 'general.architecture': text(name) });

function tokenizer(): Record<string, GgufEntry> {
  const tokens = Array.from({ length: textTokens }, (_, id) => (id < 256 ? byteText(id) : `w${id}`));
  return {
    'tokenizer.ggml.model': text('gpt2'),
    'tokenizer.ggml.tokens': arrayEntry('string', tokens),
    'tokenizer.ggml.merges': arrayEntry('string', ['a b']),
  };
}

/** Bytes as the characters that byte-level BPE writes them with. */
function byteText(byte: number): string {
  const isPrintable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  if (isPrintable) return String.fromCodePoint(byte);
  const rank = byte <= 0x20 ? byte : byte <= 0xa0 ? byte - 0x7f + 33 : 67;
  return String.fromCodePoint(256 + rank);
}

function diffusionMetadata(): Record<string, GgufEntry> {
  const { width, inner, heads, keyHeads, headWidth } = small.dit;
  return {
    ...architecture('acestep-dit'),
    'acestep-dit.block_count': number(2),
    'acestep-dit.embedding_length': number(width),
    'acestep-dit.feed_forward_length': number(inner),
    'acestep-dit.attention.head_count': number(heads),
    'acestep-dit.attention.head_count_kv': number(keyHeads),
    'acestep-dit.attention.key_length': number(headWidth),
    'acestep-dit.attention.layer_norm_rms_epsilon': fraction(1e-6),
    'acestep-dit.rope.freq_base': fraction(1_000_000),
    'acestep.in_channels': number(3 * latentWidth),
    'acestep.audio_acoustic_hidden_dim': number(latentWidth),
    'acestep.patch_size': number(patch),
    'acestep.sliding_window': number(128),
    'acestep.is_turbo': { type: 'bool', value: true },
  };
}

/** Collects tensors; shapes are rows × columns, the other way round than in the file. */
function collect(seed: number) {
  const random = new Random(seed);
  const tensors: TensorSource[] = [];
  const put = (name: string, shape: readonly number[], pool: Float32Array) => {
    const bits = Uint16Array.from(new Uint32Array(pool.buffer), (value) => value >>> 16);
    const bytes = 2 * shape.reduce((size, side) => size * side, 1);
    tensors.push({
      name,
      shape: shape.toReversed(),
      type: 'BF16',
      data: () => repeated(Buffer.from(bits.buffer), bytes),
    });
  };
  const spread = (name: string, shape: readonly number[], max: number) =>
    put(
      name,
      shape,
      Float32Array.from({ length: 4099 }, () => (random.next() - 0.5) * 2 * max),
    );
  const matrix = (name: string, rows: number, columns: number) =>
    tensors.push({
      name: `${name}.weight`,
      shape: [columns, rows],
      type: 'Q4_0',
      data: quantized(rows, columns, random),
    });
  const norm = (name: string, width: number) => put(`${name}.weight`, [width], Float32Array.of(1));
  const linear = (name: string, rows: number, columns: number) => {
    matrix(name, rows, columns);
    spread(`${name}.bias`, [rows], 0.1);
  };
  const attention = (name: string, { width, heads, keyHeads, headWidth }: Transformer) => {
    matrix(`${name}.q_proj`, heads * headWidth, width);
    matrix(`${name}.k_proj`, keyHeads * headWidth, width);
    matrix(`${name}.v_proj`, keyHeads * headWidth, width);
    matrix(`${name}.o_proj`, width, heads * headWidth);
    norm(`${name}.q_norm`, headWidth);
    norm(`${name}.k_norm`, headWidth);
  };
  const perceptron = (name: string, { width, inner }: Transformer) => {
    matrix(`${name}.gate_proj`, inner, width);
    matrix(`${name}.up_proj`, inner, width);
    matrix(`${name}.down_proj`, width, inner);
  };
  /** Layers of a Qwen3 model. */
  const layers = (prefix: string, count: number, shape: Transformer) => {
    for (let index = 0; index < count; index += 1) {
      const name = `${prefix}layers.${index}`;
      norm(`${name}.input_layernorm`, shape.width);
      attention(`${name}.self_attn`, shape);
      norm(`${name}.post_attention_layernorm`, shape.width);
      perceptron(`${name}.mlp`, shape);
    }
  };
  return { tensors, spread, matrix, norm, linear, attention, perceptron, layers };
}

/** Blocks of 32 weights, 4 bits each. */
function quantized(rows: number, columns: number, random: Random) {
  const { block, bytes } = tensorTypes.Q4_0;
  const pool = Buffer.alloc(bytes * 4096);
  const scale = halfBits(0.2 / Math.sqrt(columns));
  for (let index = 0; index < pool.length; index += 1) pool[index] = random.next() * 256;
  for (let start = 0; start < pool.length; start += bytes) pool.writeUInt16LE(scale, start);
  return () => repeated(pool, ((rows * columns) / block) * bytes);
}

function* repeated(pool: Buffer, bytes: number): Generator<Buffer> {
  let remaining = bytes;
  for (; remaining > pool.length; remaining -= pool.length) yield pool;
  yield pool.subarray(0, remaining);
}

function textEncoder(): readonly TensorSource[] {
  const { tensors, matrix, norm, layers } = collect(1);
  matrix('embed_tokens', controlTokens, small.text.width);
  layers('', 28, small.text);
  norm('norm', small.text.width);
  return tensors;
}

function languageModel(): readonly TensorSource[] {
  const { tensors, matrix, norm, layers } = collect(2);
  matrix('model.embed_tokens', allTokens, small.lm.width);
  layers('model.', 2, small.lm);
  norm('model.norm', small.lm.width);
  return tensors;
}

function diffusion(): readonly TensorSource[] {
  const { tensors, spread, matrix, norm, linear, attention, perceptron, layers } = collect(3);
  const { encoder, dit, text: textSizes } = small;
  const { width } = dit;
  for (const name of ['decoder.time_embed', 'decoder.time_embed_r']) {
    linear(`${name}.linear_1`, width, 256);
    linear(`${name}.linear_2`, width, width);
    linear(`${name}.time_proj`, 6 * width, width);
  }
  spread('decoder.proj_in.1.weight', [width, 3 * latentWidth, patch], 0.1);
  spread('decoder.proj_in.1.bias', [width], 0.1);
  linear('decoder.condition_embedder', width, encoder.width);
  for (const name of ['decoder.layers.0', 'decoder.layers.1']) {
    for (const part of ['self_attn', 'cross_attn']) {
      norm(`${name}.${part}_norm`, width);
      attention(`${name}.${part}`, dit);
    }
    norm(`${name}.mlp_norm`, width);
    perceptron(`${name}.mlp`, dit);
    spread(`${name}.scale_shift_table`, [1, 6, width], 0.1);
  }
  norm('decoder.norm_out', width);
  spread('decoder.scale_shift_table', [1, 2, width], 0.1);
  spread('decoder.proj_out.1.weight', [width, latentWidth, patch], 0.1);
  spread('decoder.proj_out.1.bias', [latentWidth], 0.1);
  spread('null_condition_emb', [1, 1, encoder.width], 1);
  matrix('encoder.text_projector', encoder.width, textSizes.width);
  for (const [name, count, columns] of [
    ['encoder.lyric_encoder', 8, textSizes.width],
    ['encoder.timbre_encoder', 4, latentWidth],
  ] as const) {
    linear(`${name}.embed_tokens`, encoder.width, columns);
    layers(`${name}.`, count, encoder);
    norm(`${name}.norm`, encoder.width);
  }
  spread('tokenizer.quantizer.project_out.weight', [encoder.width, codeDimensions], 1);
  spread('tokenizer.quantizer.project_out.bias', [encoder.width], 0.1);
  linear('detokenizer.embed_tokens', encoder.width, encoder.width);
  spread('detokenizer.special_tokens', [1, 5, encoder.width], 1);
  layers('detokenizer.', 2, encoder);
  norm('detokenizer.norm', encoder.width);
  linear('detokenizer.proj_out', latentWidth, encoder.width);
  const silence = { name: 'silence_latent', shape: [latentWidth, 15_000], type: 'F32' } as const;
  return [...tensors, { ...silence, data: new Float32Array(latentWidth * 15_000) }];
}

/** The decoder alone: five blocks that make 1920 samples of each latent frame. */
function vae(): readonly TensorSource[] {
  const { tensors, spread } = collect(4);
  const channels: readonly number[] = small.vae;
  const convolution = (name: string, shape: readonly number[], bias: number) => {
    spread(`${name}.weight_v`, shape, 1);
    spread(`${name}.weight_g`, [shape[0] as number, 1, 1], 1);
    if (bias > 0) spread(`${name}.bias`, [bias], 0.1);
  };
  const snake = (name: string, width: number) => {
    spread(`${name}.alpha`, [1, width, 1], 0.1);
    spread(`${name}.beta`, [1, width, 1], 0.1);
  };
  const [first = 0, last = 0] = [channels[0], channels.at(-1)];
  convolution('decoder.conv1', [first, latentWidth, 7], first);
  for (const [index, stride] of [10, 6, 4, 4, 2].entries()) {
    const [from = 0, to = 0] = [channels[index], channels[index + 1]];
    const name = `decoder.block.${index}`;
    snake(`${name}.snake1`, from);
    convolution(`${name}.conv_t1`, [from, to, 2 * stride], to);
    for (const unit of [1, 2, 3]) {
      snake(`${name}.res_unit${unit}.snake1`, to);
      convolution(`${name}.res_unit${unit}.conv1`, [to, to, 7], to);
      snake(`${name}.res_unit${unit}.snake2`, to);
      convolution(`${name}.res_unit${unit}.conv2`, [to, to, 1], to);
    }
  }
  snake('decoder.snake1', last);
  convolution('decoder.conv2', [2, last, 7], 0);
  return tensors;
}
