import type { GgufEntry } from '../../src/gguf/gguf.ts';
import { arrayEntry, type GgufContent, type TensorSource } from './gguf-file.ts';

/** The parts of `config.json` and `tokenizer.json` that a BERT model is known by. */
export interface BertConfig {
  readonly hidden_size: number;
  readonly intermediate_size: number;
  readonly layer_norm_eps: number;
  readonly max_position_embeddings: number;
  readonly num_attention_heads: number;
  readonly num_hidden_layers: number;
  readonly type_vocab_size: number;
}

export interface BertTokenizer {
  readonly added_tokens: readonly { readonly content: string; readonly special: boolean }[];
  readonly model: { readonly vocab: Readonly<Record<string, number>> };
}

/** The numbers by which the library knows kinds of files, pooling and tokens. */
const mostlyF16 = 1;
const meanPooling = 1;
const tokenKinds = { normal: 1, unknown: 2, control: 3 };

const wholeNames: Readonly<Record<string, string>> = {
  'embeddings.word_embeddings.weight': 'token_embd.weight',
  'embeddings.position_embeddings.weight': 'position_embd.weight',
  'embeddings.token_type_embeddings.weight': 'token_types.weight',
  'embeddings.LayerNorm.weight': 'token_embd_norm.weight',
  'embeddings.LayerNorm.bias': 'token_embd_norm.bias',
};

const layerNames: Readonly<Record<string, string>> = {
  'attention.self.query': 'attn_q',
  'attention.self.key': 'attn_k',
  'attention.self.value': 'attn_v',
  'attention.output.dense': 'attn_output',
  'attention.output.LayerNorm': 'attn_output_norm',
  'intermediate.dense': 'ffn_up',
  'output.dense': 'ffn_down',
  'output.LayerNorm': 'layer_output_norm',
};

/** A BERT model of sentence embeddings (mean pooling) as the engine reads it; the same files give the same bytes. */
export function bertGguf(
  name: string,
  weights: Uint8Array,
  { config, tokenizer }: { readonly config: BertConfig; readonly tokenizer: BertTokenizer },
): GgufContent {
  const tensors = readSafetensors(weights).flatMap((stored) => {
    const own = tensorName(stored.name);
    return own === undefined ? [] : [tensorOf(own, stored)];
  });
  return { metadata: { ...shapeEntries(name, config), ...tokenizerEntries(tokenizer, config) }, tensors };
}

/** Undefined for what the engine has no use for: the numbers of the positions, and the head of the training. */
function tensorName(name: string): string | undefined {
  const [, layer, part = '', kind] = /^encoder\.layer\.(\d+)\.(.+)\.(weight|bias)$/.exec(name) ?? [];
  if (layer === undefined) return wholeNames[name];
  const own = layerNames[part];
  return own && `blk.${layer}.${own}.${kind}`;
}

/**
 * The table of tokens, which is half of the file, has 8 bits: its rows are looked up and widened. The matrices keep 16: with 8
 * the engine also rounds what it multiplies, and a text would get another vector alone than among others (by 0.002). What is
 * added or multiplied one by one must have 32.
 */
function tensorOf(name: string, { name: stored, type, shape, bytes }: StoredTensor): TensorSource {
  if (type !== 'F16') throw new Error(`${stored} is of type ${type}, and only F16 is read`);
  const own = { name, shape: shape.toReversed() };
  if (name === 'token_embd.weight') return { ...own, type: 'Q8_0', data: quantisedToQ8(widened(bytes)) };
  const small = shape.length === 1 || name.startsWith('position_embd') || name.startsWith('token_types');
  return small ? { ...own, type: 'F32', data: widened(bytes) } : { ...own, type: 'F16', data: bytes };
}

const number = (value: number): GgufEntry => ({ type: 'uint32', value });
const text = (value: string): GgufEntry => ({ type: 'string', value });

function shapeEntries(name: string, config: BertConfig): Record<string, GgufEntry> {
  return {
    'general.architecture': text('bert'),
    'general.name': text(name),
    'general.file_type': number(mostlyF16),
    'bert.block_count': number(config.num_hidden_layers),
    'bert.context_length': number(config.max_position_embeddings),
    'bert.embedding_length': number(config.hidden_size),
    'bert.feed_forward_length': number(config.intermediate_size),
    'bert.attention.head_count': number(config.num_attention_heads),
    'bert.attention.layer_norm_epsilon': { type: 'float32', value: config.layer_norm_eps },
    'bert.attention.causal': { type: 'bool', value: false },
    'bert.pooling_type': number(meanPooling),
  };
}

function tokenizerEntries(
  { model: { vocab }, added_tokens: added }: BertTokenizer,
  { type_vocab_size: types }: BertConfig,
): Record<string, GgufEntry> {
  const special = new Set(added.filter((one) => one.special).map(({ content }) => content));
  const tokens = Object.entries(vocab)
    .sort(([, left], [, right]) => left - right)
    .map(([token]) => token);
  if (tokens.some((token, index) => vocab[token] !== index)) throw new Error('the vocabulary has gaps');
  const id = (token: string): GgufEntry => {
    const id = vocab[token];
    if (id === undefined) throw new Error(`the vocabulary has no ${token}`);
    return number(id);
  };
  const kindOf = (token: string): number => {
    if (!special.has(token)) return tokenKinds.normal;
    return token === '[UNK]' ? tokenKinds.unknown : tokenKinds.control;
  };
  return {
    'tokenizer.ggml.model': text('bert'),
    'tokenizer.ggml.pre': text('jina-v2-en'),
    'tokenizer.ggml.token_type_count': number(types),
    'tokenizer.ggml.tokens': arrayEntry(
      'string',
      tokens.map((token) => (special.has(token) ? token : spelling(token))),
    ),
    'tokenizer.ggml.token_type': arrayEntry('int32', tokens.map(kindOf)),
    'tokenizer.ggml.unknown_token_id': id('[UNK]'),
    // The misspelling is the name that the format has.
    'tokenizer.ggml.seperator_token_id': id('[SEP]'),
    'tokenizer.ggml.padding_token_id': id('[PAD]'),
    'tokenizer.ggml.cls_token_id': id('[CLS]'),
    'tokenizer.ggml.mask_token_id': id('[MASK]'),
    'tokenizer.ggml.bos_token_id': id('[CLS]'),
    'tokenizer.ggml.eos_token_id': id('[SEP]'),
  };
}

/** The engine marks the beginnings of words, where the file marks their continuations. */
function spelling(token: string): string {
  return token.startsWith('##') ? token.slice(2) : `\u2581${token}`;
}

/** Weights of a block, which share one scale. */
const blockLength = 32;
const blockBytes = 2 + blockLength;

/** Weights as Q8_0: for each block of 32 a 16-bit scale, then 32 signed bytes. The same weights give the same bytes. */
export function quantisedToQ8(values: Float32Array): Uint8Array {
  if (values.length % blockLength !== 0) throw new RangeError(`${values.length} weights are no whole blocks of Q8_0`);
  const bytes = new Uint8Array((values.length / blockLength) * blockBytes);
  const view = new DataView(bytes.buffer);
  for (let block = 0; block * blockLength < values.length; block += 1) {
    const own = values.subarray(block * blockLength, (block + 1) * blockLength);
    const largest = own.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
    const inverse = largest === 0 ? 0 : 127 / largest;
    view.setUint16(block * blockBytes, halfOf(largest / 127), true);
    for (const [index, value] of own.entries()) {
      view.setInt8(block * blockBytes + 2 + index, Math.round(value * inverse));
    }
  }
  return bytes;
}

const scratch = new DataView(new ArrayBuffer(4));

/** The bits of the nearest 16-bit float, to even where two are equally near. For values of 0 and above. */
function halfOf(value: number): number {
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  const exponent = (bits >>> 23) - 112;
  if (exponent >= 31) throw new RangeError(`${value} is too large for a 16-bit float`);
  if (exponent < -10) return 0;
  // Below the smallest exponent the leading one is written out, and the fraction is shorter by so much.
  const dropped = exponent > 0 ? 13 : 14 - exponent;
  const fraction = exponent > 0 ? bits & 0x7fffff : (bits & 0x7fffff) | 0x800000;
  const rounded = (exponent > 0 ? exponent << 10 : 0) + (fraction >>> dropped);
  const rest = fraction & ((1 << dropped) - 1);
  const middle = 1 << (dropped - 1);
  return rounded + (rest > middle || (rest === middle && (rounded & 1) === 1) ? 1 : 0);
}

/** A tensor of a safetensors file, with its bytes as stored. */
interface StoredTensor {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

interface HeaderEntry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

const lengthBytes = 8;

/** A JSON header behind its length, and then the bytes that it speaks of. Throws one sentence for anything else. */
export function readSafetensors(file: Uint8Array): readonly StoredTensor[] {
  if (file.byteLength < lengthBytes) throw new Error('the safetensors file is too short');
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const start = lengthBytes + Number(view.getBigUint64(0, true));
  if (start > file.byteLength) throw new Error('the header of the safetensors file is cut off');
  return entriesOf(file.subarray(lengthBytes, start)).map(
    ([
      name,
      {
        dtype,
        shape,
        data_offsets: [from, to],
      },
    ]) => {
      if (!(from <= to && start + to <= file.byteLength))
        throw new Error(`${name} lies outside of the safetensors file`);
      return { name, type: dtype, shape, bytes: file.subarray(start + from, start + to) };
    },
  );
}

function entriesOf(bytes: Uint8Array): readonly [string, HeaderEntry][] {
  let header: Readonly<Record<string, HeaderEntry>>;
  try {
    header = JSON.parse(Buffer.from(bytes).toString());
  } catch (error) {
    throw new Error('the header of the safetensors file is no JSON', { cause: error });
  }
  return Object.entries(header).filter(([name]) => name !== '__metadata__');
}

/** 16-bit floats as 32-bit ones, exactly. */
export function widened(halves: Uint8Array): Float32Array {
  const view = new DataView(halves.buffer, halves.byteOffset, halves.byteLength);
  return Float32Array.from({ length: halves.byteLength / 2 }, (_, index) => fromHalf(view.getUint16(index * 2, true)));
}

function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
