import fc from 'fast-check';
import { expect, test } from 'vitest';
import { commonSuffixes, Dry, type DrySettings } from './dry.ts';
import { dryBreakers } from './dry-breakers.ts';
import { vocabularyOf } from './testing/candidates.ts';

const letters = vocabularyOf([...'abcdefgh\n']);
const history = (text: string): Int32Array => Int32Array.from(letters.tokenize(text));
const settings: DrySettings = { multiplier: 1, base: 2, allowedLength: 2, range: 0 };

/** How much each letter lost after this text. */
function losses(text: string, changes: Partial<DrySettings> = {}, breakers: string[] = []): Record<string, number> {
  const tokens = history(text);
  const logits = new Float32Array(letters.size);
  const dry = new Dry({ ...settings, ...changes }, 1000, letters.size, dryBreakers(breakers, letters));
  dry.penalise(logits, tokens, tokens.length);
  return Object.fromEntries([...logits].flatMap((logit, token) => (logit < 0 ? [[letters.piece(token), -logit]] : [])));
}

test('the token that went on after the same passage is punished by its length', () => {
  expect(losses('abcdabc')).toEqual({ d: 2 });
  expect(losses('abcdeabcd')).toEqual({ e: 4 });
});

test('a repetition of just the allowed length costs the multiplier, a shorter one nothing', () => {
  expect(losses('abcgab', { multiplier: 3 })).toEqual({ c: 3 });
  expect(losses('acga')).toEqual({});
});

test('the longest repetition counts for each token', () => {
  // "bc" was followed by e and by d, "abc" by d.
  expect(losses('abcdhbcdgbceabc')).toEqual({ d: 2, e: 1 });
});

test('repetitions may overlap with the text they repeat', () => {
  expect(losses('aaaa')).toEqual({ a: 2 });
});

test('only the last tokens of the range are looked at', () => {
  expect(losses('abcdabc', { range: 6 })).toEqual({ d: 1 });
  expect(losses('abcdabc', { range: 4 })).toEqual({});
});

test('a passage counts only up to the nearest breaker', () => {
  expect(losses('ab\ncdegab\ncde', {}, ['\n'])).toEqual({ g: 2 });
  expect(losses('abcgabc', {}, ['c'])).toEqual({});
});

test('the power stays under what a float can hold', () => {
  const [loss] = Object.values(losses('a'.repeat(400)));
  expect(loss).toBe(2 ** 127);
});

test('it does nothing where it is off', () => {
  expect(losses('abcdabc', { multiplier: 0 })).toEqual({});
  expect(losses('abcdabc', { base: 0 })).toEqual({});
});

test('nothing is remembered from one token to the next', () => {
  const dry = new Dry(settings, 1000, letters.size);
  const first = new Float32Array(letters.size);
  dry.penalise(first, history('abcdabc'), 7);
  const second = new Float32Array(letters.size);
  dry.penalise(second, history('abcdabce'), 8);
  expect([...second]).toEqual([...second].fill(0));
});

const anyText = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 60 });

test('common suffixes are those that plain comparison finds', () => {
  fc.assert(
    fc.property(anyText, fc.nat({ max: 5 }), (tokens, before) => {
      const text = Int32Array.from([...new Array(before).fill(1), ...tokens]);
      const lengths = new Int32Array(tokens.length);
      commonSuffixes(text, text.length, tokens.length, lengths);
      const reversed = tokens.toReversed();
      const naive = reversed.map((_, start) => {
        let common = 0;
        while (start + common < reversed.length && reversed[common] === reversed[start + common]) common += 1;
        return common;
      });
      expect([...lengths]).toEqual(naive);
    }),
  );
});

test('the penalties are those of the definition', () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 1, max: 4 }), fc.boolean(), (tokens, allowedLength, broken) => {
      const breakers = broken ? dryBreakers(['c'], letters) : undefined;
      const limit = broken ? tokens.length - 1 - tokens.lastIndexOf(2) : tokens.length;
      const expected = new Float32Array(letters.size);
      for (let end = 1; end < tokens.length && limit > allowedLength; end += 1) {
        let common = 0;
        while (common < end && tokens[end - 1 - common] === tokens[tokens.length - 1 - common]) common += 1;
        common = Math.min(common, limit);
        const token = tokens[end] as number;
        if (common >= allowedLength)
          expected[token] = Math.min(expected[token] as number, -(1.5 ** (common - allowedLength)));
      }
      const logits = new Float32Array(letters.size);
      const dry = new Dry({ multiplier: 1, base: 1.5, allowedLength, range: 0 }, 1000, letters.size, breakers);
      dry.penalise(logits, Int32Array.from(tokens), tokens.length);
      expect([...logits]).toEqual([...expected]);
    }),
  );
});
