import { readGguf } from '../../src/gguf/read.ts';
import type { GgufEntry } from '../../src/gguf/types.ts';
import { arrayEntry, type TensorSource, writeGguf } from '../../src/gguf/write.ts';
import { Random } from '../../src/sampling/random.ts';

/** Tensors of random weights; the shapes are written as rows × columns, the other way round than in the file. */
function weights(seed: number) {
  const random = new Random(seed);
  const tensors: TensorSource[] = [];
  const put = (name: string, shape: readonly number[], value: () => number) => {
    const data = Float32Array.from({ length: shape.reduce((size, side) => size * side, 1) }, value);
    tensors.push({ name, shape: shape.toReversed(), type: 'F32', data });
  };
  return {
    tensors,
    /** The kernels of convolutions must be 16-bit floats. */
    kernel: (name: string, shape: readonly number[], spread: number) => {
      const data = Uint16Array.from({ length: shape.reduce((size, side) => size * side, 1) }, () =>
        halfBits((random.next() - 0.5) * 2 * spread),
      );
      tensors.push({ name, shape: shape.toReversed(), type: 'F16', data });
    },
    random: (name: string, shape: readonly number[], spread: number) =>
      put(name, shape, () => (random.next() - 0.5) * 2 * spread),
    matrix: (name: string, rows: number, columns: number, { bias = true } = {}) => {
      const spread = Math.sqrt(3 / columns);
      put(`${name}.weight`, [rows, columns], () => (random.next() - 0.5) * 2 * spread);
      if (bias) put(`${name}.bias`, [rows], () => (random.next() - 0.5) * 0.2);
    },
    norm: (name: string, width: number, { bias = true } = {}) => {
      put(`${name}.weight`, [width], () => 1);
      if (bias) put(`${name}.bias`, [width], () => 0);
    },
  };
}

/** Values that a 16-bit float cannot hold in its usual form become 0. */
function halfBits(value: number): number {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0] as number;
  const exponent = ((bits >>> 23) & 0xff) - 112;
  return exponent <= 0 ? 0 : ((bits >>> 16) & 0x8000) | (exponent << 10) | ((bits >>> 13) & 0x3ff);
}

const number = (value: number): GgufEntry => ({ type: 'uint32', value });
const text = (value: string): GgufEntry => ({ type: 'string', value });
const fraction = (value: number): GgufEntry => ({ type: 'float32', value });

const eye = { width: 64, layers: 2, heads: 4, hidden: 128, patch: 14 };

function eyeMetadata(projector: string, outputWidth: number, imageSize: number): Record<string, GgufEntry> {
  return {
    'general.architecture': text('clip'),
    'general.type': text('mmproj'),
    'clip.has_vision_encoder': { type: 'bool', value: true },
    'clip.projector_type': text(projector),
    'clip.use_gelu': { type: 'bool', value: true },
    'clip.vision.image_size': number(imageSize),
    'clip.vision.patch_size': number(eye.patch),
    'clip.vision.embedding_length': number(eye.width),
    'clip.vision.feed_forward_length': number(eye.hidden),
    'clip.vision.projection_dim': number(outputWidth),
    'clip.vision.attention.head_count': number(eye.heads),
    'clip.vision.attention.layer_norm_epsilon': fraction(1e-5),
    'clip.vision.block_count': number(eye.layers),
    'clip.vision.image_mean': arrayEntry('float32', [0.5, 0.5, 0.5]),
    'clip.vision.image_std': arrayEntry('float32', [0.5, 0.5, 0.5]),
  };
}

function layers({ matrix, norm }: ReturnType<typeof weights>, prefix: 'v' | 'a', { keyBias = true } = {}): void {
  for (let layer = 0; layer < eye.layers; layer += 1) {
    const name = `${prefix}.blk.${layer}`;
    for (const part of ['attn_q', 'attn_v', 'attn_out']) matrix(`${name}.${part}`, eye.width, eye.width);
    matrix(`${name}.attn_k`, eye.width, eye.width, { bias: keyBias });
    norm(`${name}.ln1`, eye.width);
    norm(`${name}.ln2`, eye.width);
    matrix(`${name}.ffn_up`, eye.hidden, eye.width);
    matrix(`${name}.ffn_down`, eye.width, eye.hidden);
  }
}

/** Sees every picture as 4 × 4 patches: 16 places of a prompt. */
export const gridTokens = 16;

/** An untrained eye in the manner of LLaVA 1.5: a small transformer over patches, and two layers behind it. */
export async function writeGridProjector(path: string, outputWidth: number): Promise<void> {
  const made = weights(1);
  const side = Math.sqrt(gridTokens);
  made.random('v.patch_embd.weight', [eye.width, 3, eye.patch, eye.patch], 0.2);
  made.random('v.class_embd', [eye.width], 0.5);
  made.random('v.position_embd.weight', [gridTokens + 1, eye.width], 0.5);
  made.norm('v.pre_ln', eye.width);
  made.norm('v.post_ln', eye.width);
  layers(made, 'v');
  made.matrix('mm.0', outputWidth, eye.width);
  made.matrix('mm.2', outputWidth, outputWidth);
  await writeGguf(path, { metadata: eyeMetadata('mlp', outputWidth, side * eye.patch), tensors: made.tensors });
}

/** An untrained eye in the manner of Qwen2-VL, which gives its places rows and columns instead of a number each. */
export async function writeRowsProjector(path: string, outputWidth: number): Promise<void> {
  const made = weights(2);
  made.random('v.patch_embd.weight', [eye.width, 3, eye.patch, eye.patch], 0.2);
  made.random('v.patch_embd.weight.1', [eye.width, 3, eye.patch, eye.patch], 0.2);
  made.norm('v.post_ln', eye.width);
  layers(made, 'v');
  made.matrix('mm.0', 4 * eye.width, 4 * eye.width);
  made.matrix('mm.2', outputWidth, 4 * eye.width);
  const metadata = eyeMetadata('qwen2vl_merger', outputWidth, 560);
  await writeGguf(path, { metadata, tensors: made.tensors });
}

/** An untrained eye in the manner of Gemma 3, whose places all look at each other; 16 of them too. */
export async function writeBothWaysProjector(path: string, outputWidth: number): Promise<void> {
  const made = weights(5);
  const [size, pooled] = [224, 4];
  made.random('v.patch_embd.weight', [eye.width, 3, eye.patch, eye.patch], 0.2);
  made.random('v.patch_embd.bias', [eye.width], 0.2);
  made.random('v.position_embd.weight', [(size / eye.patch) ** 2, eye.width], 0.5);
  made.norm('v.post_ln', eye.width);
  layers(made, 'v');
  made.random('mm.input_projection.weight', [eye.width, outputWidth], 0.3);
  made.norm('mm.soft_emb_norm', eye.width, { bias: false });
  const metadata = {
    ...eyeMetadata('gemma3', outputWidth, size),
    'clip.vision.projector.scale_factor': number(pooled),
  };
  await writeGguf(path, { metadata, tensors: made.tensors });
}

/** Half a minute of sound, the least that this kind of ear hears at once. */
export const earTokens = 750;

/** An untrained ear in the manner of Qwen2-Audio: convolutions over a spectrum, and a small transformer. */
export async function writeEarProjector(path: string, outputWidth: number): Promise<void> {
  const bands = 128;
  const made = weights(4);
  made.kernel('a.conv1d.1.weight', [eye.width, bands, 3], 0.1);
  made.random('a.conv1d.1.bias', [eye.width, 1], 0.1);
  made.kernel('a.conv1d.2.weight', [eye.width, eye.width, 3], 0.1);
  made.random('a.conv1d.2.bias', [eye.width, 1], 0.1);
  made.random('a.position_embd.weight', [2 * earTokens, eye.width], 0.5);
  made.norm('a.post_ln', eye.width);
  layers(made, 'a', { keyBias: false });
  made.matrix('mm.a.fc', outputWidth, eye.width);
  await writeGguf(path, {
    metadata: {
      'general.architecture': text('clip'),
      'general.type': text('mmproj'),
      'clip.has_audio_encoder': { type: 'bool', value: true },
      'clip.projector_type': text('qwen2a'),
      'clip.use_gelu': { type: 'bool', value: true },
      'clip.audio.num_mel_bins': number(bands),
      'clip.audio.embedding_length': number(eye.width),
      'clip.audio.feed_forward_length': number(eye.hidden),
      'clip.audio.projection_dim': number(outputWidth),
      'clip.audio.attention.head_count': number(eye.heads),
      'clip.audio.attention.layer_norm_epsilon': fraction(1e-5),
      'clip.audio.block_count': number(eye.layers),
    },
    tensors: made.tensors,
  });
}

/** An untrained text model in the manner of Qwen2-VL, with the tokens of the model at `vocabulary`. */
export async function writeRowsModel(path: string, vocabulary: string): Promise<{ readonly width: number }> {
  const { metadata } = await readGguf(vocabulary, { arrayEntries: Number.POSITIVE_INFINITY });
  const tokenizer = [...metadata].filter(([key]) => key.startsWith('tokenizer.'));
  const tokens = metadata.get('tokenizer.ggml.tokens')?.value as { readonly length: number };
  const [width, depth, heads, hidden] = [64, 2, 4, 128];
  const made = weights(3);
  made.random('token_embd.weight', [tokens.length, width], 0.5);
  made.norm('output_norm', width, { bias: false });
  for (let layer = 0; layer < depth; layer += 1) {
    const name = `blk.${layer}`;
    made.norm(`${name}.attn_norm`, width, { bias: false });
    for (const part of ['attn_q', 'attn_k', 'attn_v']) made.matrix(`${name}.${part}`, width, width);
    made.random(`${name}.attn_output.weight`, [width, width], 0.3);
    made.norm(`${name}.ffn_norm`, width, { bias: false });
    for (const part of ['ffn_gate', 'ffn_up']) made.random(`${name}.${part}.weight`, [hidden, width], 0.3);
    made.random(`${name}.ffn_down.weight`, [width, hidden], 0.3);
  }
  await writeGguf(path, {
    metadata: {
      'general.architecture': text('qwen2vl'),
      'qwen2vl.context_length': number(4096),
      'qwen2vl.embedding_length': number(width),
      'qwen2vl.block_count': number(depth),
      'qwen2vl.feed_forward_length': number(hidden),
      'qwen2vl.attention.head_count': number(heads),
      'qwen2vl.attention.head_count_kv': number(heads),
      'qwen2vl.attention.layer_norm_rms_epsilon': fraction(1e-6),
      'qwen2vl.rope.freq_base': fraction(10_000),
      'qwen2vl.rope.dimension_sections': arrayEntry('int32', [2, 3, 3, 0]),
      ...Object.fromEntries(tokenizer),
    },
    tensors: made.tensors,
  });
  return { width };
}
