import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Repetition } from './repetition.ts';
import { anyLogits, candidatesOf, logitsOf } from './testing/candidates.ts';

const off = { repetitionPenalty: 1, repetitionSlope: 1, repetitionRange: 320, presencePenalty: 0, frequencyPenalty: 0 };
const penalised = (logits: number[], history: number[], settings: Partial<typeof off>, context = 100): number[] => {
  const candidates = candidatesOf(logits);
  const repetition = new Repetition({ ...off, ...settings }, context, logits.length);
  repetition.penaliseCandidates(candidates, Int32Array.from(history), history.length);
  return logitsOf(candidates);
};

test('Repetition: divides positive logits and multiplies others, once per token', () => {
  expect(penalised([4, -4, 0, 4], [0, 1, 2, 0, 0], { repetitionPenalty: 2 })).toEqual([2, -8, 0, 4]);
});

test('Repetition: subtracts the presence penalty once', () => {
  expect(penalised([4, 4, 4], [0, 0, 2], { presencePenalty: 1.5 })).toEqual([2.5, 4, 2.5]);
});

test('Repetition: subtracts the frequency penalty per occurrence in the range', () => {
  expect(penalised([4, 4, 4], [0, 0, 2, 0], { frequencyPenalty: 0.5 })).toEqual([2.5, 4, 3.5]);
  expect(penalised([4, 4, 4], [0, 0, 2, 0], { frequencyPenalty: 0.5, repetitionRange: 2 })).toEqual([3.5, 4, 3.5]);
});

test('Repetition: a negative frequency penalty raises logits and clears onlyLowers', () => {
  expect(penalised([4, 4], [1, 1], { frequencyPenalty: -0.5 })).toEqual([4, 5]);
  expect(new Repetition({ ...off, frequencyPenalty: -0.5 }, 100, 2)).toMatchObject({ active: true, onlyLowers: false });
  expect(new Repetition({ ...off, frequencyPenalty: 0.5 }, 100, 2)).toMatchObject({ active: true, onlyLowers: true });
});

test('Repetition: penalties add up', () => {
  const settings = { repetitionPenalty: 2, presencePenalty: 0.25, frequencyPenalty: 0.5 };
  expect(penalised([4, -4], [0, 0, 1], settings)).toEqual([0.75, -8.75]);
});

test('Repetition: the slope applies to the older half of the range; the newer half wins', () => {
  // A range of 5: the newest three are near, the other two far; token 3 lies outside.
  const settings = { repetitionPenalty: 3, repetitionSlope: 0.5, repetitionRange: 5 };
  expect(penalised([6, 6, 6, 6], [3, 0, 1, 2, 2, 1], settings)).toEqual([3, 2, 2, 6]);
});

test('Repetition: a penalty below 1 ignores the slope', () => {
  expect(penalised([6, 6], [0, 1], { repetitionPenalty: 0.5, repetitionSlope: 0.5, repetitionRange: 2 })).toEqual([
    12, 12,
  ]);
});

test.each([0, -1, 1.5])('Repetition: a slope of %f counts as 1', (repetitionSlope) => {
  expect(penalised([6, 6], [0, 1], { repetitionPenalty: 2, repetitionSlope, repetitionRange: 2 })).toEqual([3, 3]);
});

test('Repetition: the range is limited by the context', () => {
  expect(penalised([6, 6, 6], [0, 1, 2], { repetitionPenalty: 2 }, 2)).toEqual([6, 3, 3]);
});

test('Repetition: token 0 is lowered only if it was seen', () => {
  expect(penalised([6, 6], [1], { repetitionPenalty: 2 })).toEqual([6, 3]);
});

test('Repetition: ignores tokens outside of the vocabulary', () => {
  expect(penalised([6, 6], [-1, 7, 1], { repetitionPenalty: 2 })).toEqual([6, 3]);
  expect(penalised([6, 6], [-1, 7, 1, 7], { frequencyPenalty: 1 })).toEqual([6, 5]);
});

test('penaliseLogits: same as penaliseCandidates, without state between calls', () => {
  const history = fc.array(fc.integer({ min: 0, max: 59 }), { maxLength: 40 });
  const settings = fc.record({
    repetitionPenalty: fc.double({ min: 0.5, max: 3, noNaN: true }),
    repetitionSlope: fc.double({ min: 0, max: 1, noNaN: true }),
    repetitionRange: fc.integer({ min: 1, max: 50 }),
    presencePenalty: fc.double({ min: -2, max: 2, noNaN: true }),
    frequencyPenalty: fc.constantFrom(0, -1.5, 0.1, 0.7),
  });
  fc.assert(
    fc.property(anyLogits(), history, settings, (values, tokens, chosen) => {
      const repetition = new Repetition(chosen, 100, values.length);
      const seen = Int32Array.from(tokens);
      const vocabulary = Float32Array.from(values);
      repetition.penaliseLogits(vocabulary, seen, seen.length);
      for (let round = 0; round < 2; round += 1) {
        const candidates = candidatesOf(values);
        repetition.penaliseCandidates(candidates, seen, seen.length);
        expect(logitsOf(candidates)).toEqual([...vocabulary]);
      }
    }),
  );
});
