import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { arrayEntry, encodeHeader, type GgufContent, writeGguf } from '../../scripts/conversion/gguf-file.ts';
import { describeGguf } from './describe.ts';
import { type GgufEntry, GgufError, numberOf, readGguf, tensorBytes, textOf } from './gguf.ts';

const folder = mkdtempSync(join(tmpdir(), 'gguf-'));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, 'model.gguf');

const metadata: Record<string, GgufEntry> = {
  'general.architecture': { type: 'string', value: 'llama' },
  'general.name': { type: 'string', value: 'A small model' },
  'llama.context_length': { type: 'uint32', value: 4096 },
  'llama.block_count': { type: 'uint32', value: 2 },
  'one.of.each.uint8': { type: 'uint8', value: 255 },
  'one.of.each.int8': { type: 'int8', value: -128 },
  'one.of.each.uint16': { type: 'uint16', value: 65535 },
  'one.of.each.int16': { type: 'int16', value: -3 },
  'one.of.each.int32': { type: 'int32', value: -70000 },
  'one.of.each.float32': { type: 'float32', value: 0.5 },
  'one.of.each.bool': { type: 'bool', value: true },
  'one.of.each.uint64': { type: 'uint64', value: 2n ** 64n - 1n },
  'one.of.each.int64': { type: 'int64', value: -5 },
  'one.of.each.float64': { type: 'float64', value: 1e-300 },
  'one.of.each.nested': arrayEntry('array', [
    { type: 'int32', length: 2, values: [1, 2] },
    { type: 'string', length: 1, values: ['é🦊'] },
  ]),
  'tokenizer.ggml.model': { type: 'string', value: 'gpt2' },
  'tokenizer.ggml.tokens': arrayEntry(
    'string',
    Array.from({ length: 50_000 }, (_, index) => `token ${index}`),
  ),
  'tokenizer.ggml.scores': arrayEntry(
    'float32',
    Array.from({ length: 50_000 }, (_, index) => -index),
  ),
  'tokenizer.chat_template': { type: 'string', value: `{{ messages }}${'x'.repeat(500)}` },
};
const content: GgufContent = {
  metadata,
  tensors: [
    { name: 'token_embd.weight', shape: [64, 3], type: 'Q8_0', data: new Uint8Array(204).fill(7) },
    { name: 'norm.weight', shape: [5], type: 'F32', data: Float32Array.of(1, 2, 3, 4, 5) },
    { name: 'out.weight', shape: [4, 2], type: 'F16', data: () => [new Uint8Array(10), new Uint8Array(6).fill(1)] },
  ],
};
const header = (entries: Record<string, GgufEntry>, tensors: GgufContent['tensors'] = []) =>
  encodeHeader({ metadata: entries, tensors });

test('readGguf: reads back every value type and tensor of writeGguf', async () => {
  const size = await writeGguf(path, content);
  const read = await readGguf(path, { arrayEntries: Number.POSITIVE_INFINITY });
  expect(Object.fromEntries(read.metadata)).toEqual(metadata);
  expect(read).toMatchObject({ path, version: 3, architecture: 'llama', alignment: 32, fileSize: size });
  expect(read.tensors).toEqual([
    { name: 'token_embd.weight', shape: [64, 3], type: 'Q8_0', offset: 0, elements: 192, bytes: 204 },
    { name: 'norm.weight', shape: [5], type: 'F32', offset: 224, elements: 5, bytes: 20 },
    { name: 'out.weight', shape: [4, 2], type: 'F16', offset: 256, elements: 8, bytes: 16 },
  ]);
  const bytes = readFileSync(path);
  expect(bytes.readFloatLE(read.dataOffset + 224 + 4)).toBe(2);
  expect(bytes[read.dataOffset + 256 + 10]).toBe(1);
});

test('readGguf: keeps the first entries and the length of long arrays', async () => {
  await writeGguf(path, content);
  const read = await readGguf(path, { arrayEntries: 2 });
  expect(read.metadata.get('tokenizer.ggml.tokens')?.value).toEqual({
    type: 'string',
    length: 50_000,
    values: ['token 0', 'token 1'],
  });
  expect(read.metadata.get('tokenizer.ggml.scores')?.value).toEqual({
    type: 'float32',
    length: 50_000,
    values: [-0, -1],
  });
  expect([textOf(read, 'general.name'), numberOf(read, 'llama.block_count')]).toEqual(['A small model', 2]);
  expect([textOf(read, 'llama.block_count'), numberOf(read, 'missing')]).toEqual([undefined, undefined]);
});

test('readGguf: skips texts exactly at any chunk boundary', async () => {
  // Pieces of 256 KiB: some texts are cut by their ends, some are longer than one, and lengths are cut, too.
  const lengths = fc.oneof(fc.nat(40), fc.integer({ min: 262_110, max: 262_150 }), fc.constantFrom(0, 600_000));
  const texts = fc.array(lengths, { maxLength: 12 });
  const keep = fc.constantFrom(0, 1, 3, Number.POSITIVE_INFINITY);
  await fc.assert(
    fc.asyncProperty(texts, keep, fc.nat(20), async (sizes, arrayEntries, before) => {
      const values = sizes.map((size, index) => String(index % 10).repeat(size));
      const entries: Record<string, GgufEntry> = {
        'general.architecture': { type: 'string', value: 'llama' },
        'some.text': { type: 'string', value: 'x'.repeat(before) },
        'some.texts': arrayEntry('string', values),
        'nested.texts': arrayEntry('array', [{ type: 'string', length: values.length, values }]),
        'behind.them': { type: 'uint32', value: 12_345 },
      };
      writeFileSync(path, header(entries));
      const read = await readGguf(path, { arrayEntries });
      const kept = values.slice(0, Math.min(values.length, arrayEntries));
      expect(read.metadata.get('some.texts')?.value).toEqual({ type: 'string', length: values.length, values: kept });
      expect(numberOf(read, 'behind.them')).toBe(12_345);
    }),
    { numRuns: 40 },
  );
});

test('readGguf: reads version 2 and other alignments', async () => {
  const aligned = {
    ...content,
    metadata: { ...metadata, 'general.alignment': { type: 'uint32', value: 256 } as const },
  };
  await writeGguf(path, aligned);
  const bytes = readFileSync(path);
  bytes.writeUInt32LE(2, 4);
  writeFileSync(path, bytes);
  const read = await readGguf(path);
  expect(read).toMatchObject({ version: 2, alignment: 256 });
  expect([read.dataOffset % 256, ...read.tensors.map(({ offset }) => offset)]).toEqual([0, 0, 256, 512]);
});

test('tensorBytes: undefined for a shape that does not fit the blocks', () => {
  expect(tensorBytes('Q4_K', [100])).toBeUndefined();
});

describe('readGguf: one sentence for a damaged file', () => {
  const architecture = { 'general.architecture': metadata['general.architecture'] as GgufEntry };
  const tensor = { name: 'a', shape: [4], type: 'F32' as const, data: new Float32Array(4) };
  const patched = (bytes: Buffer, patch: (bytes: Buffer) => void) => {
    patch(bytes);
    return bytes;
  };
  const tail = (bytes: Buffer, back: number) => bytes.length - back;
  test.each<[string, Buffer, RegExp]>([
    ['an empty file', Buffer.alloc(0), /no GGUF file: it has only 0 bytes/],
    ['another kind of file', Buffer.from('PK\u0003\u0004 and so on and so on, a zip file'), /begins with "PK/],
    ['an old version', patched(header(architecture), (bytes) => bytes.writeUInt32LE(1, 4)), /GGUF version 1/],
    ['a big-endian file', patched(header(architecture), (bytes) => bytes.writeUInt32BE(3, 4)), /big-endian/],
    [
      'too many tensors',
      patched(header(architecture), (bytes) => bytes.writeBigUInt64LE(2n ** 40n, 8)),
      /cannot hold 1099511627776 tensors/,
    ],
    [
      'a count beyond numbers',
      patched(header(architecture), (bytes) => bytes.writeBigUInt64LE(2n ** 63n, 16)),
      /the number of metadata entries claims/,
    ],
    [
      'too long a key',
      patched(header(architecture), (bytes) => bytes.writeBigUInt64LE(2n ** 30n, 24)),
      /a metadata key claims 1073741824 bytes/,
    ],
    [
      'a value of no type',
      patched(header(architecture), (bytes) => bytes.writeUInt32LE(77, 52)),
      /general.architecture has the unknown value type 77/,
    ],
    [
      'a text beyond the end',
      patched(header(architecture), (bytes) => bytes.writeBigUInt64LE(999n, 56)),
      /ends within general.architecture/,
    ],
    [
      'an array beyond the end',
      patched(header({ a: arrayEntry('uint32', [1, 2, 3]) }), (bytes) =>
        bytes.writeBigUInt64LE(2n ** 50n, tail(bytes, 20)),
      ),
      /a claims 1125899906842624 entries/,
    ],
    [
      'no truth value',
      patched(header({ a: { type: 'bool', value: true } }), (bytes) => bytes.writeUInt8(2, tail(bytes, 1))),
      /neither true nor false/,
    ],
    ['no architecture', header({ a: { type: 'bool', value: true } }), /which architecture/],
    [
      'an odd alignment',
      header({ ...architecture, 'general.alignment': { type: 'uint32', value: 33 } }),
      /no power of two/,
    ],
    [
      'an unknown tensor type',
      patched(header(architecture, [tensor]), (bytes) => bytes.writeUInt32LE(4, tail(bytes, 12))),
      /the tensor a has type 4/,
    ],
    [
      'too many dimensions',
      patched(header(architecture, [tensor]), (bytes) => bytes.writeUInt32LE(9, tail(bytes, 24))),
      /has 9 dimensions/,
    ],
    [
      'a shape without sense',
      patched(header(architecture, [tensor]), (bytes) => bytes.writeBigUInt64LE(2n ** 52n + 1n, tail(bytes, 20))),
      /the tensor a|cut off/,
    ],
    [
      'an offset between',
      patched(header(architecture, [tensor]), (bytes) => bytes.writeBigUInt64LE(8n, tail(bytes, 8))),
      /multiple of 32/,
    ],
    ['weights beyond the end', header(architecture, [tensor]), /cut off: the tensor a ends at/],
    ['a tensor twice', header(architecture, [tensor, tensor]), /the tensor a occurs twice/],
  ])('%s', async (_, bytes, sentence) => {
    writeFileSync(path, bytes);
    const error = await readGguf(path).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(GgufError);
    expect((error as Error).message).toMatch(sentence);
    expect((error as Error).message).toMatch(/^[A-Z][^\n]*\.$/);
  });

  test('any cut or changed byte: read, or refused with a sentence', async () => {
    const whole = header({ ...architecture, a: arrayEntry('string', ['x', 'y']), b: { type: 'uint64', value: 3 } }, [
      tensor,
    ]);
    const check = async (bytes: Buffer) => {
      writeFileSync(path, bytes);
      const result = await readGguf(path).catch((reason: unknown) => reason);
      if (result instanceof Error) expect(result).toBeInstanceOf(GgufError);
    };
    for (let length = 0; length < whole.length; length += 1) await check(whole.subarray(0, length));
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(255), (at, byte) =>
        check(patched(Buffer.concat([whole, Buffer.alloc(64)]), (bytes) => bytes.writeUInt8(byte, at))),
      ),
    );
  });

  test('a missing file: file system error', async () => {
    await expect(readGguf(join(folder, 'missing.gguf'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('describeGguf', () => {
  test('summary, metadata and tensors, with long values shortened', async () => {
    await writeGguf(path, content);
    const text = describeGguf(await readGguf(path));
    const line = (start: string) =>
      text
        .split('\n')
        .find((row) => row.startsWith(start))
        ?.replace(/ {2,}/g, '  ');
    expect(line('File:')).toBe(`File:  model.gguf (${(statSync(path).size / 1e6).toFixed(1)} MB)`);
    expect(line('Parameters:')).toBe('Parameters:  205 (205)');
    expect(line('Quantisation:')).toBe(
      'Quantisation:  Q8_0 85.0 % (1 tensor), F32 8.3 % (1 tensor), F16 6.7 % (1 tensor)',
    );
    expect(line('Context length:')).toBe('Context length:  4,096');
    expect(line('Heads:')).toBe('Heads:  not said');
    expect(line('Vocabulary:')).toBe('Vocabulary:  50,000 entries (gpt2)');
    expect(line('Chat template:')).toBe('Chat template:  present (514 characters)');
    expect(line('tokenizer.ggml.tokens')).toBe(
      'tokenizer.ggml.tokens  string[50000]  ["token 0", "token 1", "token 2", "token 3", "token 4", "token 5", …]',
    );
    expect(line('tokenizer.chat_template')).toMatch(/…$/);
    expect(line('out.weight')).toBe('out.weight  F16  4 × 2  16 bytes');
    expect(Math.max(...text.split('\n').map((row) => [...row].length))).toBeLessThan(180);
  });

  test('describes the embedded model by its header', async () => {
    const read = await readGguf(join(import.meta.dirname, '../../models/parley-mini.gguf'));
    expect(read.dataOffset).toBeLessThan(read.fileSize / 10);
    expect(describeGguf(read)).toMatch(/Parameters: +46\.\d M/);
    expect(describeGguf(read)).toMatch(/Chat template: +present/);
  });
});
