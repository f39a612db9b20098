import { totalmem } from 'node:os';
import { expect, test } from 'vitest';
import { freeMemory } from './own-machine.ts';

const card = (name: string, freeBytes: number) => ({ name, description: 'Example 8', freeBytes, totalBytes: 8e9 });

test('freeMemory: counts what loaded models hold, since they give it back', () => {
  const cards = [card('Example 8', 1e9), card('Example 8', 7e9)];
  const held = { mainBytes: 100, cards: [{ ...card('CUDA0', 1e9), heldBytes: 6e9 }] };
  expect(freeMemory(cards, 1000, held)).toEqual({ cardBytes: [7e9, 7e9], mainBytes: 1100 });
});

test('freeMemory: never more than there is', () => {
  const held = { mainBytes: totalmem(), cards: [{ ...card('CUDA0', 7e9), heldBytes: 6e9 }] };
  expect(freeMemory([card('Example 8', 7e9)], 1000, held)).toEqual({ cardBytes: [8e9], mainBytes: totalmem() });
});
