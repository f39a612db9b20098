import { expect, test } from 'vitest';
import { Dry } from '../../../../sampling/dry.ts';
import { Repetition } from '../../../../sampling/repetition.ts';
import { TextHistory } from './text-history.ts';

test('text is passed on as it is, without a copy', () => {
  const tokens = Int32Array.of(1, 2, 3, 0);
  expect(new TextHistory({ tokens }, 2).upTo(3)).toEqual({ tokens, length: 3 });
  expect(new TextHistory({ tokens }, 2).upTo(3).tokens).toBe(tokens);
});

test('pictures are left out, and a reply that was partly taken back is followed', () => {
  const tokens = Int32Array.of(1, -5, -6, 2, 3, 4, 0);
  const history = new TextHistory({ tokens }, 4);
  const text = (length: number) => {
    const { tokens: list, length: count } = history.upTo(length);
    return [...list.subarray(0, count)];
  };
  expect(text(4)).toEqual([1, 2]);
  expect(text(6)).toEqual([1, 2, 3, 4]);
  tokens[4] = 9;
  expect(text(5)).toEqual([1, 2, 9]);
});

test('penalties pass over ids that are no tokens', () => {
  const history = Int32Array.of(1, -5, -6, 1, -5, -6);
  const logits = new Float32Array([1, 1, 1]);
  const repetition = { penalty: 2, slope: 1, range: 10, presence: 1, frequency: 1 };
  new Repetition(repetition, 10, 3).penaliseLogits(logits, history, 6);
  expect([...logits]).toEqual([1, -2.5, 1]);
  const dry = new Dry({ multiplier: 1, base: 2, allowedLength: 1, range: 0 }, 10, 3);
  dry.penalise(logits, history, 6);
  expect([logits[0], logits[2]]).toEqual([1, 1]);
});
