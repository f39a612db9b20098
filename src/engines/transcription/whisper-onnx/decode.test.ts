import { describe, expect, test } from 'vitest';
import { compression, type Decoder, type DecoderState, decodeWindow, temperatures } from './decode.ts';
import type { TokenRoles } from './rules.ts';

const roles: TokenRoles = { end: 5, timestamps: 10, noTimestamps: 9, suppressed: [], suppressedFirst: [5] };

/** A decoder that answers with logits for what was written; counts states that were not released. */
function world(logitsAfter: (written: readonly number[]) => Readonly<Record<number, number>>) {
  let open = 0;
  const stateOf = (written: readonly number[]): DecoderState & { readonly written: readonly number[] } => {
    open += 1;
    return {
      written,
      logits: () => {
        const logits = new Float32Array(70).fill(-50);
        for (const [token, logit] of Object.entries(logitsAfter(written))) logits[Number(token)] = logit;
        return logits;
      },
      release: () => {
        open -= 1;
      },
    };
  };
  const decoder: Decoder = {
    begin: async () => stateOf([]),
    next: async (state, token, signal) => {
      signal.throwIfAborted();
      return stateOf([...(state as ReturnType<typeof stateOf>).written, token]);
    },
  };
  const options = {
    roles,
    temperature: 0,
    random: () => 0.999,
    textOf: (tokens: readonly number[]) => tokens.filter((token) => token < 5).join(' '),
    signal: new AbortController().signal,
  };
  const start = stateOf([]);
  return { decoder, start, options, open: () => open };
}

describe('decodeWindow', () => {
  const speech = [10, 1, 2, 60];

  test('writes the likeliest tokens up to the end', async () => {
    const { decoder, start, options, open } = world((written) => ({ [speech[written.length] ?? 5]: 10 }));
    const { tokens, averageLogprob, temperature } = await decodeWindow(decoder, start, options);
    expect([tokens, temperature]).toEqual([speech, 0]);
    expect(averageLogprob).toBeCloseTo(0, 3);
    // The caller's own.
    expect(open()).toBe(1);
  });

  test('a text that repeats itself is written again at a higher temperature', async () => {
    // The likeliest text goes on for ever; the unlikelier end comes with chance.
    const { decoder, start, options } = world((written) => (written.length === 0 ? { 10: 10 } : { 1: 1, 5: 0 }));
    const { tokens, temperature } = await decodeWindow(decoder, start, { ...options, random: () => 0.95 });
    expect(tokens).toEqual([10]);
    expect(temperature).toBeGreaterThan(0);
  });

  test('an improbable text is written again at all temperatures, and the best attempt counts', async () => {
    const even = { 0: 1, 1: 1, 2: 1, 3: 1, 4: 1 };
    const rather = { 0: 1, 1: 1.5, 2: 1, 3: 1, 4: 1 };
    const { decoder, start, options } = world((written) => {
      if (written.length === 0) return { 10: 10 };
      if (written.length > 10) return { 5: 10 };
      // Only chance comes to the likelier texts.
      return written.includes(3) ? rather : even;
    });
    const { tokens, averageLogprob, temperature } = await decodeWindow(decoder, start, {
      ...options,
      random: () => 0.7,
    });
    expect(averageLogprob).toBeLessThan(-1);
    expect(temperature).toBeGreaterThan(0);
    expect(tokens).toContain(3);
  });

  test('nothing is better than repetition', async () => {
    const { decoder, start, options, open } = world((written) => (written.length === 0 ? { 10: 10 } : { 1: 50 }));
    expect((await decodeWindow(decoder, start, options)).tokens).toEqual([]);
    expect(open()).toBe(1);
  });

  test('an abort ends it, and no state is left', async () => {
    const gone = new AbortController();
    const { decoder, start, options, open } = world((written) => {
      if (written.length === 3) gone.abort(new Error('gone'));
      return written.length === 0 ? { 10: 10 } : { 1: 50 };
    });
    await expect(decodeWindow(decoder, start, { ...options, signal: gone.signal })).rejects.toThrow('gone');
    expect(open()).toBe(1);
  });
});

test.each([
  [0, [0, 0.2, 0.4, 0.6, 0.8, 1]],
  [0.5, [0.5, 0.7, 0.9]],
  [1, [1]],
])('temperatures from %d', (first, expected) => {
  const found = temperatures(first);
  expect(found.length).toBe(expected.length);
  for (const [index, temperature] of found.entries()) expect(temperature).toBeCloseTo(expected[index] ?? 0, 6);
});

test('compression: high for repetition, low for speech', () => {
  expect(compression('the cat and '.repeat(20))).toBeGreaterThan(2.4);
  expect(compression('We will meet at the station at seven in the evening, if it does not rain.')).toBeLessThan(2.4);
  expect(compression('')).toBe(0);
});
