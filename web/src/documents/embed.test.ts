import { expect, test } from 'vitest';
import { fakePage } from '../testing/page.ts';

const base64 = (...values: number[]): string =>
  btoa(String.fromCharCode(...new Uint8Array(Float32Array.from(values).buffer)));

test('embed: sends all texts and returns the vectors in their order', async () => {
  const page = fakePage({
    'v1/embeddings': () => ({
      model: 'mini',
      data: [
        { index: 1, embedding: [0.5, 1] },
        { index: 0, embedding: base64(1, -2) },
      ],
    }),
  });
  const { embed } = await import('./embed.ts');
  const { model, vectors } = await embed(['a', 'b']);
  expect(model).toBe('mini');
  expect(vectors.map((vector) => [...vector])).toEqual([
    [1, -2],
    [0.5, 1],
  ]);
  expect(page.requests[0]?.body).toEqual({ input: ['a', 'b'], encoding_format: 'base64', truncate: true });
});

test('embed: fails if a vector is missing', async () => {
  fakePage({ 'v1/embeddings': () => ({ data: [] }) });
  const { embed } = await import('./embed.ts');
  await expect(embed(['a'])).rejects.toThrow('wrong number');
});
