import { expect, test } from 'vitest';
import { namedGpus } from './gpu-memory.ts';

const gpus = [{ name: 'CUDA0' }, { name: 'CUDA1' }, { name: 'CUDA2' }];

test.each([
  [[], ['CUDA0', 'CUDA1', 'CUDA2']],
  [['1'], ['CUDA1']],
  [
    ['2', 'cuda0'],
    ['CUDA0', 'CUDA2'],
  ],
  [['Vulkan0'], []],
])('namedGpus: %j', (devices, expected) => {
  expect(namedGpus(gpus, devices).map(({ name }) => name)).toEqual(expected);
});
