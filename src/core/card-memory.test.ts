import { expect, test } from 'vitest';
import { namedCards } from './card-memory.ts';

const cards = [{ name: 'CUDA0' }, { name: 'CUDA1' }, { name: 'CUDA2' }];

test.each([
  [[], ['CUDA0', 'CUDA1', 'CUDA2']],
  [['1'], ['CUDA1']],
  [
    ['2', 'cuda0'],
    ['CUDA0', 'CUDA2'],
  ],
  [['Vulkan0'], []],
])('namedCards: %j', (devices, expected) => {
  expect(namedCards(cards, devices).map(({ name }) => name)).toEqual(expected);
});
