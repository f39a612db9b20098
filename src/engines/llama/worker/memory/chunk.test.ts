import { expect, test } from 'vitest';
import { nextChunk, portionOf, smallestChunk, targetStepMs } from './chunk.ts';

test.each([
  [64, targetStepMs, 64],
  [64, targetStepMs / 2, 128],
  [64, targetStepMs / 10, 128],
  [256, targetStepMs * 2, 128],
  [256, targetStepMs * 50, 128],
  [smallestChunk, targetStepMs * 50, smallestChunk],
  [500, 1, 512],
])('after a chunk of %i that took %f ms comes one of %i', (chunk, ms, expected) => {
  expect(nextChunk(chunk, ms, 512)).toBe(expected);
});

test.each([
  [400, 512, 400],
  [2000, 512, 512],
  [530, 512, 466],
  [70, 64, 64],
])('of a passage of %i tokens a batch with room for %i takes %i', (passage, room, expected) => {
  expect(portionOf(passage, room)).toBe(expected);
});

test('it settles where a step takes about the target, for any speed', () => {
  for (const msPerToken of [0.05, 0.1, 0.5, 1]) {
    let chunk = 64;
    for (let step = 0; step < 30; step += 1) chunk = nextChunk(chunk, chunk * msPerToken, 4096);
    expect(Math.abs(chunk * msPerToken - targetStepMs)).toBeLessThan(targetStepMs / 4);
  }
});
