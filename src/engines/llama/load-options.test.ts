import { expect, test } from 'vitest';
import { contextSizeFor, expectedContextSize } from './load-options.ts';

const shape = { architecture: 'llama', layers: 1, trainedContext: 2048, sizeBytes: 1, cacheBytesPerToken: 1 };
const options = {
  contextSize: 16_384,
  contextSizeGiven: false,
  trainedContextOverride: 0,
  metadataOverrides: [],
  shape,
};

test('a default context ends where the training did, one that was asked for does not', () => {
  expect(contextSizeFor({ contextSize: 4096, contextSizeGiven: false }, 2048)).toBe(2048);
  expect(contextSizeFor({ contextSize: 1024, contextSizeGiven: false }, 2048)).toBe(1024);
  expect(contextSizeFor({ contextSize: 4096, contextSizeGiven: true }, 2048)).toBe(4096);
});

test.each([
  ['what the file says', {}, 2048],
  ['what was asked for', { contextSizeGiven: true }, 16_384],
  ['what --overridenativecontext says', { trainedContextOverride: 4096 }, 4096],
  [
    'what --overridekv says',
    { metadataOverrides: [{ key: 'llama.context_length', type: 'int' as const, value: '512' }] },
    512,
  ],
  [
    'not what --overridekv says of something else',
    { metadataOverrides: [{ key: 'llama.block_count', type: 'int' as const, value: '512' }] },
    2048,
  ],
  ['the default where the file says nothing', { shape: { ...shape, trainedContext: 0 } }, 16_384],
])('before the model is loaded its context is %s', (_, own, expected) => {
  expect(expectedContextSize({ ...options, ...own })).toBe(expected);
});
