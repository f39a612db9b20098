import { arrayEntry, writeGguf } from '../../scripts/conversion/gguf-file.ts';
import type { GgufEntry } from '../../src/gguf/gguf.ts';
import { fraction, number, text } from './entries.ts';
import { weights } from './weights.ts';

const [width, heads, layers, inner, maxLength] = [32, 2, 2, 64, 128];
const specials = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
const letters = [...'abcdefghijklmnopqrstuvwxyz'];
/** Each letter as the beginning of a word and within it. */
const tokens = [...specials, ...letters.map((letter) => `\u2581${letter}`), ...letters];

/** The numbers by which the library knows them. */
export const poolings = { none: 0, mean: 1, cls: 2, last: 3, rank: 4 } as const;

/** An untrained encoder whose tokens are letters; with `rank` it has a head that gives a figure for a pair of texts. */
export async function writeBert(path: string, pooling: keyof typeof poolings): Promise<void> {
  const { tensors, random, constant, matrix, norm } = weights(7);
  random('token_embd.weight', [tokens.length, width], 1);
  random('position_embd.weight', [maxLength, width], 0.3);
  random('token_types.weight', [2, width], 0.3);
  norm('token_embd_norm', width);
  for (let layer = 0; layer < layers; layer += 1) {
    const own = (name: string) => `blk.${layer}.${name}`;
    for (const name of ['attn_q', 'attn_k', 'attn_v', 'attn_output']) matrix(own(name), width, width);
    norm(own('attn_output_norm'), width);
    matrix(own('ffn_up'), inner, width);
    matrix(own('ffn_down'), width, inner);
    norm(own('layer_output_norm'), width);
  }
  if (pooling === 'rank') {
    matrix('cls', width, width);
    random('cls.output.weight', [1, width], 1);
    constant('cls.output.bias', [1], 0);
  }
  await writeGguf(path, { metadata: { ...shape(pooling), ...tokenizer() }, tensors });
}

function shape(pooling: keyof typeof poolings): Record<string, GgufEntry> {
  return {
    'general.architecture': text('bert'),
    'general.name': text(`tiny ${pooling}`),
    'bert.block_count': number(layers),
    'bert.context_length': number(maxLength),
    'bert.embedding_length': number(width),
    'bert.feed_forward_length': number(inner),
    'bert.attention.head_count': number(heads),
    'bert.attention.layer_norm_epsilon': fraction(1e-6),
    'bert.attention.causal': { type: 'bool', value: false },
    'bert.pooling_type': number(poolings[pooling]),
  };
}

function tokenizer(): Record<string, GgufEntry> {
  const id = (token: string) => number(specials.indexOf(token));
  return {
    'tokenizer.ggml.model': text('bert'),
    'tokenizer.ggml.pre': text('jina-v2-en'),
    'tokenizer.ggml.token_type_count': number(2),
    'tokenizer.ggml.tokens': arrayEntry('string', tokens),
    'tokenizer.ggml.token_type': arrayEntry(
      'int32',
      tokens.map((token) => (token === '[UNK]' ? 2 : specials.includes(token) ? 3 : 1)),
    ),
    'tokenizer.ggml.unknown_token_id': id('[UNK]'),
    'tokenizer.ggml.seperator_token_id': id('[SEP]'),
    'tokenizer.ggml.padding_token_id': id('[PAD]'),
    'tokenizer.ggml.cls_token_id': id('[CLS]'),
    'tokenizer.ggml.mask_token_id': id('[MASK]'),
    'tokenizer.ggml.bos_token_id': id('[CLS]'),
    'tokenizer.ggml.eos_token_id': id('[SEP]'),
  };
}
