import { arrayEntry, type TensorSource, writeGguf } from '../scripts/conversion/gguf-file.ts';
import type { GgufEntry } from '../src/gguf/gguf.ts';
import { f16Weights, q8Weights } from './random-weights.ts';
import { syntheticVocabulary } from './synthetic-vocabulary.ts';

export interface RandomModelOptions {
  readonly layers?: number;
  readonly width?: number;
  readonly heads?: number;
  readonly kvHeads?: number;
  readonly feedForward?: number;
  readonly vocabulary?: number;
  /** As `text` the tokens for single bytes are written out: random bytes are no UTF-8, and some servers give up on them. */
  readonly byteTokens?: 'bytes' | 'text';
  readonly contextLength?: number;
  readonly chatTemplate?: string;
  readonly type?: 'Q8_0' | 'F16';
  readonly seed?: number;
}

type Settings = Required<RandomModelOptions>;

const chatTemplate =
  "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}" +
  '{% if add_generation_prompt %}assistant:{% endif %}';

/** About 124 million weights: large enough that a step costs what a step costs, small enough for any machine. */
export const randomModelDefaults: Settings = {
  layers: 12,
  width: 768,
  heads: 12,
  kvHeads: 4,
  feedForward: 2048,
  vocabulary: 32_000,
  byteTokens: 'bytes',
  contextLength: 8192,
  chatTemplate,
  type: 'Q8_0',
  seed: 1,
};

/**
 * Writes a model of the Llama architecture whose weights are random and whose text is nonsense, for measuring speed.
 * The same options give the same bytes. Resolves to the number of its weights and the size of the file.
 */
export async function writeRandomModel(
  path: string,
  options: RandomModelOptions = {},
): Promise<{ parameters: number; bytes: number }> {
  const settings = { ...randomModelDefaults, ...options };
  check(settings);
  const tensors = tensorsOf(settings);
  const bytes = await writeGguf(path, { metadata: metadataOf(settings), tensors });
  const parameters = tensors.reduce(
    (total, { shape }) => total + shape.reduce((product, size) => product * size, 1),
    0,
  );
  return { parameters, bytes };
}

function check({ width, heads, kvHeads, feedForward, vocabulary }: Settings): void {
  const wrong =
    width % 32 !== 0 || feedForward % 32 !== 0
      ? 'width and feedForward must be multiples of 32'
      : width % (heads * 2) !== 0 || heads % kvHeads !== 0 || ((width / heads) * kvHeads) % 32 !== 0
        ? 'heads must divide the width evenly, kvHeads must divide the heads, and their widths be multiples of 32'
        : vocabulary < 512
          ? 'vocabulary must be 512 at least'
          : undefined;
  if (wrong !== undefined) throw new RangeError(wrong);
}

function metadataOf(settings: Settings): Record<string, GgufEntry> {
  const { tokens, scores, types } = syntheticVocabulary(settings.vocabulary, settings.byteTokens);
  const count = (value: number): GgufEntry => ({ type: 'uint32', value });
  const text = (value: string): GgufEntry => ({ type: 'string', value });
  return {
    'general.architecture': text('llama'),
    'general.name': text('random weights'),
    'general.file_type': count(settings.type === 'Q8_0' ? 7 : 1),
    'llama.vocab_size': count(settings.vocabulary),
    'llama.context_length': count(settings.contextLength),
    'llama.embedding_length': count(settings.width),
    'llama.block_count': count(settings.layers),
    'llama.feed_forward_length': count(settings.feedForward),
    'llama.attention.head_count': count(settings.heads),
    'llama.attention.head_count_kv': count(settings.kvHeads),
    'llama.attention.layer_norm_rms_epsilon': { type: 'float32', value: 1e-5 },
    'llama.rope.dimension_count': count(settings.width / settings.heads),
    'llama.rope.freq_base': { type: 'float32', value: 10_000 },
    'tokenizer.ggml.model': text('llama'),
    'tokenizer.ggml.tokens': arrayEntry('string', tokens),
    'tokenizer.ggml.scores': arrayEntry('float32', scores),
    'tokenizer.ggml.token_type': arrayEntry('int32', types),
    'tokenizer.ggml.unknown_token_id': count(0),
    'tokenizer.ggml.bos_token_id': count(1),
    'tokenizer.ggml.eos_token_id': count(2),
    'tokenizer.ggml.add_bos_token': { type: 'bool', value: true },
    'tokenizer.chat_template': text(settings.chatTemplate),
  };
}

function tensorsOf({ layers, width, heads, kvHeads, feedForward, vocabulary, type, seed }: Settings): TensorSource[] {
  const kvWidth = (width / heads) * kvHeads;
  const tensors: TensorSource[] = [];
  const norm = (name: string) =>
    tensors.push({ name, shape: [width], type: 'F32', data: new Float32Array(width).fill(1) });
  // Outputs as large as inputs keep every layer in range; the last matrix makes logits with a spread like a real model's.
  const matrix = (name: string, columns: number, rows: number, spread = 1 / Math.sqrt(columns)) => {
    const source = { count: columns * rows, spread, seed: (Math.imul(seed, 0x9e3779b1) + tensors.length) >>> 0 };
    tensors.push({
      name,
      shape: [columns, rows],
      type,
      data: () => (type === 'Q8_0' ? q8Weights : f16Weights)(source),
    });
  };
  matrix('token_embd.weight', width, vocabulary, 1);
  for (let layer = 0; layer < layers; layer += 1) {
    const block = `blk.${layer}`;
    norm(`${block}.attn_norm.weight`);
    matrix(`${block}.attn_q.weight`, width, width);
    matrix(`${block}.attn_k.weight`, width, kvWidth);
    matrix(`${block}.attn_v.weight`, width, kvWidth);
    matrix(`${block}.attn_output.weight`, width, width);
    norm(`${block}.ffn_norm.weight`);
    matrix(`${block}.ffn_gate.weight`, width, feedForward);
    matrix(`${block}.ffn_up.weight`, width, feedForward);
    matrix(`${block}.ffn_down.weight`, feedForward, width);
  }
  norm('output_norm.weight');
  matrix('output.weight', width, vocabulary, 2.5 / Math.sqrt(width));
  return tensors;
}
