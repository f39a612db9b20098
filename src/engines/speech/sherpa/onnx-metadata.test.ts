import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { onnxMetadata, readOnnxMetadata } from './onnx-metadata.ts';
import { tinyOnnx } from './testing/tiny-onnx.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'onnx-test-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(...parts: readonly Uint8Array[]): Promise<string> {
  const path = join(folder, 'model.onnx');
  await writeFile(path, Buffer.concat(parts));
  return path;
}

describe('readOnnxMetadata', () => {
  test('finds metadata after the weights', async () => {
    const path = await file(tinyOnnx({ graphBytes: 100_000 }), onnxMetadata(new Map([['model_type', 'vits']])));
    expect(await readOnnxMetadata(path)).toEqual(new Map([['model_type', 'vits']]));
  });

  test('finds metadata before the weights', async () => {
    const path = await file(onnxMetadata(new Map([['a', 'b']])), tinyOnnx({ graphBytes: 300 }));
    expect(await readOnnxMetadata(path)).toEqual(new Map([['a', 'b']]));
  });

  test('is empty without metadata', async () => {
    expect(await readOnnxMetadata(await file(tinyOnnx()))).toEqual(new Map());
  });

  test('reads what onnxMetadata has written', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.string({ minLength: 1, unit: 'grapheme' }), fc.string({ unit: 'grapheme' })),
        async (entries) => {
          const told = new Map(Object.entries(entries));
          expect(await readOnnxMetadata(await file(tinyOnnx(), onnxMetadata(told)))).toEqual(told);
        },
      ),
      { numRuns: 40 },
    );
  });

  test('supports long values', async () => {
    const told = new Map([['long', 'x'.repeat(100_000)]]);
    expect(await readOnnxMetadata(await file(tinyOnnx(), onnxMetadata(told)))).toEqual(told);
  });

  test('the last entry of a key counts', async () => {
    const path = await file(tinyOnnx(), onnxMetadata(new Map([['k', 'old']])), onnxMetadata(new Map([['k', 'new']])));
    expect((await readOnnxMetadata(path)).get('k')).toBe('new');
  });

  test('onnxMetadata has the bytes of the format', () => {
    const bytes = Buffer.from(onnxMetadata(new Map([['k', 'v']])));
    expect(bytes.toString('hex')).toBe('72060a016b120176');
  });
});

describe('readOnnxMetadata: invalid files', () => {
  test.each([
    ['empty', Buffer.alloc(0), /is empty/],
    ['text', Buffer.from('this is no model at all, just words'), /no ONNX file/],
    ['GGUF', Buffer.from('GGUF\x03\0\0\0\0\0\0\0'), /no ONNX file/],
  ])('%s', async (_, bytes, reason) => {
    const path = await file(bytes);
    const read = readOnnxMetadata(path).then(
      () => 'read',
      (error: Error) => error.message,
    );
    expect(await read).toMatch(reason);
  });

  test('truncated model', async () => {
    const whole = tinyOnnx({ graphBytes: 5000 });
    const path = await file(whole.subarray(0, whole.length - 100));
    await expect(readOnnxMetadata(path)).rejects.toThrow(/not complete/);
  });

  test('arbitrary bytes give metadata or an error message', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async (bytes) => {
        const path = await file(bytes);
        const outcome = await readOnnxMetadata(path).catch((error: Error) => error.message);
        expect(typeof outcome === 'string' ? outcome : 'read').toMatch(/no ONNX file|read/);
      }),
      { numRuns: 60 },
    );
  });
});
