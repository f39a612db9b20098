import { totalmem } from 'node:os';
import { expect, test } from 'vitest';
import { freeMemory } from './own-machine.ts';

const gpu = (name: string, freeBytes: number) => ({ name, description: 'Example 8', freeBytes, totalBytes: 8e9 });

test('freeMemory: counts what loaded models hold, since they give it back', () => {
  const gpus = [gpu('Example 8', 1e9), gpu('Example 8', 7e9)];
  const held = { mainBytes: 100, gpus: [{ ...gpu('CUDA0', 1e9), heldBytes: 6e9 }] };
  expect(freeMemory(gpus, 1000, held)).toEqual({ gpuBytes: [7e9, 7e9], mainBytes: 1100 });
});

test('freeMemory: never more than there is', () => {
  const held = { mainBytes: totalmem(), gpus: [{ ...gpu('CUDA0', 7e9), heldBytes: 6e9 }] };
  expect(freeMemory([gpu('Example 8', 7e9)], 1000, held)).toEqual({ gpuBytes: [8e9], mainBytes: totalmem() });
});
