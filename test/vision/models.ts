import { arrayEntry, writeGguf } from '../../scripts/conversion/gguf-file.ts';
import type { GgufEntry } from '../../src/gguf/gguf.ts';
import { fraction, number, text, tokenizerOf } from '../models/entries.ts';
import { weights } from '../models/weights.ts';

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
  const tensors = weights(1);
  const side = Math.sqrt(gridTokens);
  tensors.random('v.patch_embd.weight', [eye.width, 3, eye.patch, eye.patch], 0.2);
  tensors.random('v.class_embd', [eye.width], 0.5);
  tensors.random('v.position_embd.weight', [gridTokens + 1, eye.width], 0.5);
  tensors.norm('v.pre_ln', eye.width);
  tensors.norm('v.post_ln', eye.width);
  layers(tensors, 'v');
  tensors.matrix('mm.0', outputWidth, eye.width);
  tensors.matrix('mm.2', outputWidth, outputWidth);
  await writeGguf(path, { metadata: eyeMetadata('mlp', outputWidth, side * eye.patch), tensors: tensors.tensors });
}

/** An untrained eye in the manner of Qwen2-VL, which gives its places rows and columns instead of a number each. */
export async function writeRowsProjector(path: string, outputWidth: number): Promise<void> {
  const tensors = weights(2);
  tensors.random('v.patch_embd.weight', [eye.width, 3, eye.patch, eye.patch], 0.2);
  tensors.random('v.patch_embd.weight.1', [eye.width, 3, eye.patch, eye.patch], 0.2);
  tensors.norm('v.post_ln', eye.width);
  layers(tensors, 'v');
  tensors.matrix('mm.0', 4 * eye.width, 4 * eye.width);
  tensors.matrix('mm.2', outputWidth, 4 * eye.width);
  const metadata = eyeMetadata('qwen2vl_merger', outputWidth, 560);
  await writeGguf(path, { metadata, tensors: tensors.tensors });
}

/** An untrained eye in the manner of Gemma 3, whose places all look at each other; 16 of them too. */
export async function writeBothWaysProjector(path: string, outputWidth: number): Promise<void> {
  const tensors = weights(5);
  const [size, pooled] = [224, 4];
  tensors.random('v.patch_embd.weight', [eye.width, 3, eye.patch, eye.patch], 0.2);
  tensors.random('v.patch_embd.bias', [eye.width], 0.2);
  tensors.random('v.position_embd.weight', [(size / eye.patch) ** 2, eye.width], 0.5);
  tensors.norm('v.post_ln', eye.width);
  layers(tensors, 'v');
  tensors.random('mm.input_projection.weight', [eye.width, outputWidth], 0.3);
  tensors.norm('mm.soft_emb_norm', eye.width, { bias: false });
  const metadata = {
    ...eyeMetadata('gemma3', outputWidth, size),
    'clip.vision.projector.scale_factor': number(pooled),
  };
  await writeGguf(path, { metadata, tensors: tensors.tensors });
}

/** Half a minute of sound, the least that this kind of ear hears at once. */
export const earTokens = 750;

/** An untrained ear in the manner of Qwen2-Audio: convolutions over a spectrum, and a small transformer. */
export async function writeEarProjector(path: string, outputWidth: number): Promise<void> {
  const bands = 128;
  const tensors = weights(4);
  tensors.kernel('a.conv1d.1.weight', [eye.width, bands, 3], 0.1);
  tensors.random('a.conv1d.1.bias', [eye.width, 1], 0.1);
  tensors.kernel('a.conv1d.2.weight', [eye.width, eye.width, 3], 0.1);
  tensors.random('a.conv1d.2.bias', [eye.width, 1], 0.1);
  tensors.random('a.position_embd.weight', [2 * earTokens, eye.width], 0.5);
  tensors.norm('a.post_ln', eye.width);
  layers(tensors, 'a', { keyBias: false });
  tensors.matrix('mm.a.fc', outputWidth, eye.width);
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
    tensors: tensors.tensors,
  });
}

/** An untrained text model in the manner of Qwen2-VL, with the tokens of the model at `vocabulary`. */
export async function writeRowsModel(path: string, vocabulary: string): Promise<{ readonly width: number }> {
  const { entries, size } = await tokenizerOf(vocabulary);
  const [width, depth, heads, hidden] = [64, 2, 4, 128];
  const tensors = weights(3);
  tensors.random('token_embd.weight', [size, width], 0.5);
  tensors.norm('output_norm', width, { bias: false });
  for (let layer = 0; layer < depth; layer += 1) {
    const name = `blk.${layer}`;
    tensors.norm(`${name}.attn_norm`, width, { bias: false });
    for (const part of ['attn_q', 'attn_k', 'attn_v']) tensors.matrix(`${name}.${part}`, width, width);
    tensors.random(`${name}.attn_output.weight`, [width, width], 0.3);
    tensors.norm(`${name}.ffn_norm`, width, { bias: false });
    for (const part of ['ffn_gate', 'ffn_up']) tensors.random(`${name}.${part}.weight`, [hidden, width], 0.3);
    tensors.random(`${name}.ffn_down.weight`, [width, hidden], 0.3);
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
      ...entries,
    },
    tensors: tensors.tensors,
  });
  return { width };
}
