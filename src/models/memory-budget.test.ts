import { freemem, totalmem } from 'node:os';
import { expect, test } from 'vitest';
import { defaultSettings, type Settings } from '../config/flags.ts';
import { memoryBudget } from './memory-budget.ts';
import type { Registry } from './registry.ts';
import type { Listed } from './registry-entry.ts';

const gigabyte = 2 ** 30;
const gpuBudgets = [{ name: 'CUDA0', bytes: 8 * gigabyte }];

function room(settings: Partial<Settings>, models: readonly Partial<Listed>[] = []) {
  const registry = { list: () => models, gpuBudgets } as unknown as Registry;
  return memoryBudget({ ...defaultSettings, ...settings }, () => registry);
}

test('memoryBudget: unlimited for a single model', () => {
  expect(room({ maxmodels: 1 })).toEqual({ bytes: Number.POSITIVE_INFINITY, count: Number.POSITIVE_INFINITY });
});

test('memoryBudget: free memory, at most the installed memory', () => {
  const { bytes, count } = room({ routermode: true });
  expect(bytes).toBeGreaterThan(Math.min(freemem(), gigabyte) / 2);
  expect(bytes).toBeLessThanOrEqual(totalmem());
  expect(count).toBe(Number.POSITIVE_INFINITY);
});

test('memoryBudget: includes the memory of loaded models, not of unloaded ones', () => {
  const held = 1000 * gigabyte;
  const { bytes } = room({ routermode: true }, [
    { resident: true, bytes: held / 2, spareBytes: held / 2 },
    { resident: false, bytes: 5 * held },
    { resident: true, bytes: undefined },
  ]);
  expect(bytes).toBeGreaterThan(held);
  expect(bytes).toBeLessThan(2 * held);
});

test('memoryBudget: --maxmodels is the count', () => {
  expect(room({ routermode: true, maxmodels: 3 }).count).toBe(3);
});

test('memoryBudget: includes the GPUs that the registry knows', () => {
  expect(room({ routermode: true }).gpus).toEqual(gpuBudgets);
});
