import { describe, expect, test } from 'vitest';
import { gaugeOf } from './gauge.ts';

describe('gaugeOf', () => {
  const parts = { memory: 40, world: 0, note: 0, text: 400 };

  test('counts the tokens of each part; the percentage leaves out the reserve for the reply', () => {
    const gauge = gaugeOf(parts, { context: 1000, reply: 100, charactersPerToken: 4 });
    expect(gauge?.percent).toBe(11);
    expect(gauge?.sentence).toBe('About 110 of 1,000 tokens, 100 reserved for the reply');
    expect(gauge?.parts.map(({ name, tokens, percent }) => [name, tokens, percent])).toEqual([
      ['memory', 10, 1],
      ['world', 0, 0],
      ['note', 0, 0],
      ['text', 100, 10],
      ['reply', 100, 10],
    ]);
  });

  test('never exceeds 100 percent', () => {
    const gauge = gaugeOf({ ...parts, text: 8000 }, { context: 1000, reply: 500, charactersPerToken: 4 });
    expect(gauge?.percent).toBe(100);
    expect(gauge?.parts.reduce((sum, { percent }) => sum + percent, 0)).toBeCloseTo(100);
  });

  test('returns nothing while the context size is unknown', () => {
    expect(gaugeOf(parts, { context: 0, reply: 100, charactersPerToken: 4 })).toBeUndefined();
  });
});
