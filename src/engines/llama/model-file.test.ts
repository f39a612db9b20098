import { expect, test } from 'vitest';
import { embeddedModel } from '../../run/engine.ts';
import { readModelFile } from './model-file.ts';

test('a model file tells its shape before any weight is read', async () => {
  const { path, shape, chatTemplate } = await readModelFile(embeddedModel);
  expect(path).toBe(embeddedModel);
  expect(shape).toMatchObject({ architecture: expect.any(String), trainedContext: expect.any(Number) });
  for (const figure of [shape.layers, shape.trainedContext, shape.sizeBytes, shape.cacheBytesPerToken]) {
    expect(figure).toBeGreaterThan(0);
  }
  expect(chatTemplate).toContain('messages');
});

test('a file that is none is refused with a sentence', async () => {
  await expect(readModelFile(new URL(import.meta.url).pathname)).rejects.toThrow('This is no GGUF file');
  await expect(readModelFile('/nowhere.gguf')).rejects.toThrow('ENOENT');
});
