import { expect, test } from 'vitest';
import { withSize } from './description.ts';

test.each([
  ['llama ?B Q6_K', 41_234_567, 'llama 41M Q6_K'],
  ['llama ?B F16', 7_640_000_000, 'llama 7.6B F16'],
  ['llama ?B F16', 70_000_000_000, 'llama 70B F16'],
  ['llama ?B F32', 15_400, 'llama 15K F32'],
  ['llama ?B F32', 999_600_000, 'llama 1B F32'],
  ['llama ?B F32', 12, 'llama 12 F32'],
  ['llama ?B F32', 0, 'llama ?B F32'],
  ['qwen2 1.5B Q4_K - Medium', 1_540_000_000, 'qwen2 1.5B Q4_K - Medium'],
])('%s with %d parameters is %s', (description, parameters, expected) => {
  expect(withSize(description, parameters)).toBe(expected);
});
