import fc from 'fast-check';
import { expect, test } from 'vitest';
import { borderUpTo, portionOf, portionSize, steadyNotes, steadyPortion } from './batch-size.ts';

test.each([
  [400, 512, 400],
  [2000, 512, 512],
  [530, 512, 466],
  [70, 64, 64],
])('portionOf: of %i tokens with room for %i: %i', (passage, room, expected) => {
  expect(portionOf(passage, room)).toBe(expected);
});

/** The sizes of all batches from some place to the end of a text. */
function portions(size: number, from: number, promptLength: number, length: number): number[] {
  const list: number[] = [];
  for (let computed = from; computed < length; computed += list.at(-1) as number) {
    list.push(steadyPortion({ size, computed, length, promptLength }));
  }
  return list;
}

test('steadyPortion: whole portions and a remainder for a prompt, single tokens for a reply', () => {
  expect(portions(64, 0, 150, 153)).toEqual([64, 64, 22, 1, 1, 1]);
});

test('steadyPortion: no remainder for a prompt of whole portions', () => {
  expect(portions(64, 0, 128, 129)).toEqual([64, 64, 1]);
});

test('steadyPortion: from between two borders to the next border first', () => {
  expect(portions(8, 3, 20, 20)).toEqual([5, 8, 4]);
});

test('steadyPortion: 0 if nothing is left', () => {
  expect(steadyPortion({ size: 8, computed: 12, length: 12, promptLength: 10 })).toBe(0);
  expect(steadyPortion({ size: 8, computed: 10, length: 10, promptLength: 10 })).toBe(0);
});

test('steadyPortion: same batches from any border as from the beginning', () => {
  const lengths = fc.record({ size: fc.integer({ min: 1, max: 70 }), promptLength: fc.integer({ min: 1, max: 400 }) });
  fc.assert(
    fc.property(lengths, fc.nat(20), fc.nat(400), ({ size, promptLength }, reply, index) => {
      const from = borderUpTo(Math.min(index, promptLength - 1), size);
      const whole = portions(size, 0, promptLength, promptLength + reply);
      expect(portions(size, from, promptLength, promptLength + reply)).toEqual(whole.slice(from / size));
      expect(whole.reduce((sum, count) => sum + count, 0)).toBe(promptLength + reply);
    }),
  );
});

test('borderUpTo: never after the position, and less than a portion before it', () => {
  fc.assert(
    fc.property(fc.nat(10_000), fc.integer({ min: 1, max: 512 }), (index, size) => {
      const border = borderUpTo(index, size);
      expect(border % size).toBe(0);
      expect(index - border).toBeGreaterThanOrEqual(0);
      expect(index - border).toBeLessThan(size);
    }),
  );
});

test.each([
  [{ deterministic: false, microBatchSize: 512 }, 512, undefined],
  [{ deterministic: true, microBatchSize: 512 }, 512, 64],
  [{ deterministic: true, microBatchSize: 16 }, 512, 16],
  [{ deterministic: true, microBatchSize: 512 }, 32, 32],
] as const)('portionSize: %o with batches of %i: %o tokens', (options, capacity, size) => {
  expect(portionSize(options, capacity)).toBe(size);
});

test('steadyNotes: options without effect and untested ones', () => {
  const draft = { amount: 2, pattern: 3, model: undefined, prediction: false };
  const kept = { smartCache: 5, diskCache: { folder: 'f', bytes: 1 } };
  const nothing = { draft: undefined, smartCache: 0, diskCache: undefined };
  expect(steadyNotes({ deterministic: false, draft, ...kept }, { gpuLayers: 10, savesAll: false })).toEqual([]);
  expect(steadyNotes({ deterministic: true, ...nothing }, { gpuLayers: 0, savesAll: false })).toEqual([]);
  expect(steadyNotes({ deterministic: true, ...kept, draft }, { gpuLayers: 0, savesAll: true })).toEqual([
    expect.stringContaining('nothing is drafted'),
  ]);
  expect(steadyNotes({ deterministic: true, ...kept, draft }, { gpuLayers: 4, savesAll: false })).toEqual([
    expect.stringContaining('nothing is drafted'),
    expect.stringContaining('no smart or disk cache'),
    expect.stringContaining('on a GPU has not been tried'),
  ]);
});
