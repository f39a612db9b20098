import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { GgufArray } from '../../src/gguf/gguf.ts';
import { type BertConfig, type BertTokenizer, bertGguf, quantisedToQ8, readSafetensors, widened } from './bert-gguf.ts';
import { halves, safetensors, type TensorToStore } from './testing/safetensors.ts';

const config: BertConfig = {
  hidden_size: 2,
  intermediate_size: 4,
  layer_norm_eps: 1e-12,
  max_position_embeddings: 3,
  num_attention_heads: 1,
  num_hidden_layers: 2,
  type_vocab_size: 2,
};
const specials = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
const tokenizer: BertTokenizer = {
  added_tokens: specials.map((content) => ({ content, special: true })),
  // Not in the order of their numbers.
  model: { vocab: { '##ing': 6, play: 5, ...Object.fromEntries(specials.map((token, index) => [token, index])) } },
};

const made = (tensors: readonly TensorToStore[], own: Partial<BertTokenizer> = {}) =>
  bertGguf('tiny', safetensors(tensors), { config, tokenizer: { ...tokenizer, ...own } });
const one = (name: string, shape: readonly number[]): TensorToStore => ({
  name,
  shape,
  values: Array.from({ length: shape.reduce((size, side) => size * side, 1) }, (_, index) => index),
});

describe('bertGguf: tensors', () => {
  test.each([
    ['embeddings.word_embeddings.weight', 'token_embd.weight'],
    ['embeddings.position_embeddings.weight', 'position_embd.weight'],
    ['embeddings.token_type_embeddings.weight', 'token_types.weight'],
    ['embeddings.LayerNorm.bias', 'token_embd_norm.bias'],
    ['encoder.layer.1.attention.self.query.weight', 'blk.1.attn_q.weight'],
    ['encoder.layer.0.attention.self.key.bias', 'blk.0.attn_k.bias'],
    ['encoder.layer.0.attention.self.value.weight', 'blk.0.attn_v.weight'],
    ['encoder.layer.0.attention.output.dense.weight', 'blk.0.attn_output.weight'],
    ['encoder.layer.0.attention.output.LayerNorm.weight', 'blk.0.attn_output_norm.weight'],
    ['encoder.layer.11.intermediate.dense.weight', 'blk.11.ffn_up.weight'],
    ['encoder.layer.0.output.dense.bias', 'blk.0.ffn_down.bias'],
    ['encoder.layer.0.output.LayerNorm.bias', 'blk.0.layer_output_norm.bias'],
  ])('%s becomes %s', (name, own) =>
    expect(made([one(name, [2, 32])]).tensors.map((each) => each.name)).toEqual([own]),
  );

  test.each(['embeddings.position_ids', 'pooler.dense.weight', 'encoder.layer.0.nonsense.weight'])('omits %s', (name) =>
    expect(made([one(name, [2])]).tensors).toEqual([]),
  );

  test('reverses dimensions; token table in 8 bits, matrices in 16, small tensors in 32', () => {
    const { tensors } = made([
      one('encoder.layer.0.intermediate.dense.weight', [4, 2]),
      one('encoder.layer.0.intermediate.dense.bias', [4]),
      one('embeddings.position_embeddings.weight', [3, 2]),
      one('embeddings.word_embeddings.weight', [7, 32]),
    ]);
    expect(tensors.map(({ type, shape }) => [type, shape])).toEqual([
      ['F16', [2, 4]],
      ['F32', [4]],
      ['F32', [2, 3]],
      ['Q8_0', [32, 7]],
    ]);
    expect(tensors[1]?.data).toEqual(Float32Array.of(0, 1, 2, 3));
  });

  test('rejects an unsupported data type, with the name of the tensor', () => {
    const other = { ...one('encoder.layer.0.output.dense.weight', [2, 2]), type: 'F32' };
    expect(() => made([other])).toThrow('encoder.layer.0.output.dense.weight is of type F32');
  });
});

describe('bertGguf: metadata', () => {
  const { metadata } = made([]);
  const value = (key: string) => metadata[key]?.value;

  test('shape of the model', () => {
    expect(value('general.architecture')).toBe('bert');
    expect(value('general.name')).toBe('tiny');
    expect(value('bert.block_count')).toBe(2);
    expect(value('bert.context_length')).toBe(3);
    expect(value('bert.attention.causal')).toBe(false);
    expect(value('bert.pooling_type')).toBe(1);
  });

  test('vocabulary by id, with word beginnings marked', () => {
    expect((value('tokenizer.ggml.tokens') as GgufArray).values).toEqual([...specials, '\u2581play', 'ing']);
    expect((value('tokenizer.ggml.token_type') as GgufArray).values).toEqual([3, 2, 3, 3, 3, 1, 1]);
    expect(value('tokenizer.ggml.bos_token_id')).toBe(2);
    expect(value('tokenizer.ggml.eos_token_id')).toBe(3);
    expect(value('tokenizer.ggml.seperator_token_id')).toBe(3);
    expect(value('tokenizer.ggml.padding_token_id')).toBe(0);
  });

  test('rejects a vocabulary with gaps or without [SEP]', () => {
    const { '[SEP]': _, ...without } = tokenizer.model.vocab;
    expect(() => made([], { model: { vocab: without } })).toThrow('has gaps');
    expect(() => made([], { model: { vocab: { '[UNK]': 0, a: 1 } } })).toThrow('the vocabulary has no [SEP]');
  });
});

const block = (...values: number[]): Float32Array =>
  Float32Array.from({ length: 32 }, (_, index) => values[index] ?? 0);
const scaleOf = (bytes: Uint8Array): number => widened(bytes.subarray(0, 2))[0] ?? Number.NaN;
const read = (bytes: Uint8Array): number[] =>
  Array.from(new Int8Array(bytes.buffer, 2, 32), (whole) => whole * scaleOf(bytes));

describe('quantisedToQ8', () => {
  test('writes the scale of a block as a 16-bit float, and its weights as signed bytes', () => {
    const bytes = quantisedToQ8(block(127, -127, 1, -1));
    expect(bytes).toHaveLength(34);
    expect([...bytes.subarray(0, 6)]).toEqual([0x00, 0x3c, 127, 129, 1, 255]);
  });

  test('writes zeros for a block of zeros', () => {
    expect(quantisedToQ8(block()).every((byte) => byte === 0)).toBe(true);
  });

  test('stays within half a step of every weight, and a rounding of the scale', () => {
    const weight = fc.float({ min: -8, max: 8, noNaN: true });
    fc.assert(
      fc.property(fc.array(weight, { minLength: 32, maxLength: 32 }), (values) => {
        const largest = Math.max(...values.map(Math.abs));
        const off = read(quantisedToQ8(Float32Array.from(values))).map((value, index) =>
          Math.abs(value - (values[index] ?? 0)),
        );
        // A scale below 2 ** -14 has fewer digits: there a step of 2 ** -25 counts.
        expect(Math.max(...off)).toBeLessThanOrEqual(largest / 254 + largest / 2000 + 127 * 2 ** -25);
      }),
    );
  });

  test.each([
    ['the smallest normal scale', 2 ** -14],
    ['a scale below it', 3 * 2 ** -24],
    ['the smallest scale', 2 ** -24],
    ['a scale that is rounded to even, down', 1 + 2 ** -11, 1],
    ['a scale that is rounded to even, up', 1 + 3 * 2 ** -11, 1 + 2 ** -9],
    ['a scale that is rounded into the next exponent', 2 - 2 ** -12, 2],
    ['a scale that is too small', 2 ** -26, 0],
  ])('%s', (_, scale, written = scale) => {
    expect(scaleOf(quantisedToQ8(block(127 * scale)))).toBe(written);
  });

  test('throws for an incomplete block', () => {
    expect(() => quantisedToQ8(new Float32Array(33))).toThrow('33 weights are no whole blocks');
  });
});

test('readSafetensors: returns every tensor as it was stored', () => {
  const tensor = fc.record({
    name: fc.stringMatching(/^[a-z.]{1,12}$/).filter((name) => name !== '__metadata__'),
    values: fc.array(fc.integer({ min: -100, max: 100 }), { maxLength: 20 }),
  });
  fc.assert(
    fc.property(fc.uniqueArray(tensor, { selector: ({ name }) => name, maxLength: 6 }), (tensors) => {
      const file = safetensors(tensors.map(({ name, values }) => ({ name, shape: [values.length], values })));
      const read = readSafetensors(file);
      expect(read.map(({ name, shape }) => ({ name, shape }))).toEqual(
        tensors.map(({ name, values }) => ({ name, shape: [values.length] })),
      );
      expect(read.map(({ bytes }) => Array.from(widened(bytes)))).toEqual(
        tensors.map(({ values }) => values.map((value) => value + 0)),
      );
    }),
  );
});

test.each<[number, number]>([
  [0x0000, 0],
  [0x3c00, 1],
  [0xc000, -2],
  [0x7bff, 65_504],
  [0x0001, 2 ** -24],
  [0x8001, -(2 ** -24)],
  [0x7c00, Number.POSITIVE_INFINITY],
  [0xfc00, Number.NEGATIVE_INFINITY],
  [0x7e00, Number.NaN],
])('widened: half %i is %d', (bits, expected) => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(bits);
  expect(Array.from(widened(bytes))).toEqual([expected]);
});

test('widened: reads halves at an odd offset', () => {
  const shifted = Buffer.concat([Buffer.from([7]), halves([1, -2])]).subarray(1);
  expect(Array.from(widened(shifted))).toEqual([1, -2]);
});

test.each([
  ['nothing', Buffer.alloc(0), 'too short'],
  ['a few bytes', Buffer.alloc(7), 'too short'],
  ['a header that is not there', Buffer.from([9, 0, 0, 0, 0, 0, 0, 0, 1]), 'cut off'],
  ['a header that is no JSON', Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('{x')]), 'no JSON'],
])('readSafetensors: rejects %s', (_, file, reason) => expect(() => readSafetensors(file)).toThrow(reason));

test('readSafetensors: rejects a tensor outside the file, with its name', () => {
  const whole = safetensors([{ name: 'long', shape: [8], values: Array.from({ length: 8 }, () => 1) }]);
  expect(() => readSafetensors(whole.subarray(0, whole.length - 1))).toThrow('long lies outside');
});
