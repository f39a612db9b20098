import { expect, test } from 'vitest';
import { architectureProblem, existingLayers, stretchedRopeBase, withSize } from './model.ts';

test.each([
  ['llama ?B Q6_K', 41_234_567, 'llama 41M Q6_K'],
  ['llama ?B F16', 7_640_000_000, 'llama 7.6B F16'],
  ['llama ?B F16', 70_000_000_000, 'llama 70B F16'],
  ['llama ?B F32', 15_400, 'llama 15K F32'],
  ['llama ?B F32', 999_600_000, 'llama 1B F32'],
  ['llama ?B F32', 12, 'llama 12 F32'],
  ['llama ?B F32', 0, 'llama ?B F32'],
  ['qwen2 1.5B Q4_K - Medium', 1_540_000_000, 'qwen2 1.5B Q4_K - Medium'],
])('withSize: %s with %d parameters is %s', (description, parameters, expected) => {
  expect(withSize(description, parameters)).toBe(expected);
});

test('existingLayers: no more than the model has, and the output layer', () => {
  const shape = { architecture: 'llama', layers: 32, trainedContext: 0, sizeBytes: 1, cacheBytesPerToken: 1 };
  expect(existingLayers(999, { shape })).toBe(33);
  expect(existingLayers(12, { shape })).toBe(12);
  expect(existingLayers(999, { shape: { ...shape, layers: 0 } })).toBe(999);
});

test('stretchedRopeBase: unchanged for a context within the training', () => {
  expect(stretchedRopeBase(10_000, 4096, 2048)).toBe(10_000);
  expect(stretchedRopeBase(10_000, 4096, 4096)).toBe(10_000);
});

test('stretchedRopeBase: larger for twice the trained context, but far less than squared', () => {
  const base = stretchedRopeBase(10_000, 4096, 8192);
  expect(base).toBeCloseTo(10_000 ** (Math.log(8192 / (2 * Math.PI)) / Math.log(4096 / (2 * Math.PI))), 6);
  expect(base).toBeGreaterThan(20_000);
  expect(base).toBeLessThan(40_000);
});

test('architectureProblem: names the architecture, the version of the library and the two ways out', () => {
  const shape = { layers: 1, trainedContext: 0, sizeBytes: 1, cacheBytesPerToken: 1 };
  const problem = architectureProblem({ ...shape, architecture: 'made-up' }, '0.4.0');
  expect(problem?.message).toBe(
    'its architecture (made-up) is not known to llama.cpp 0.4.0, which this version of Parley uses. Install a newer release of Parley, or let a program that knows it be the engine (--engine, docs/engines.md)',
  );
  expect(architectureProblem({ ...shape, architecture: 'llama' }, '0.4.0')).toBeUndefined();
});
