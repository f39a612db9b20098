import fc from 'fast-check';
import { expect, test } from 'vitest';
import { commonSuffixes, Dry, type DrySettings, dryBreakers, tokensAfterBreaker } from './dry.ts';
import { vocabularyOf } from './testing/candidates.ts';

const letters = vocabularyOf([...'abcdefgh\n']);
const history = (text: string): Int32Array => Int32Array.from(letters.tokenize(text));
const settings: DrySettings = { dryMultiplier: 1, dryBase: 2, dryAllowedLength: 2, dryRange: 0 };

/** How much each letter lost after this text. */
function losses(text: string, changes: Partial<DrySettings> = {}, breakers: string[] = []): Record<string, number> {
  const tokens = history(text);
  const logits = new Float32Array(letters.size);
  const dry = new Dry({ ...settings, ...changes }, 1000, letters.size, dryBreakers(breakers, letters));
  dry.penalise(logits, tokens, tokens.length);
  return Object.fromEntries([...logits].flatMap((logit, token) => (logit < 0 ? [[letters.piece(token), -logit]] : [])));
}

test('Dry: lowers the token that followed the same passage, by the length of the passage', () => {
  expect(losses('abcdabc')).toEqual({ d: 2 });
  expect(losses('abcdeabcd')).toEqual({ e: 4 });
});

test('Dry: a repetition of the allowed length costs the multiplier, a shorter one nothing', () => {
  expect(losses('abcgab', { dryMultiplier: 3 })).toEqual({ c: 3 });
  expect(losses('acga')).toEqual({});
});

test('Dry: the longest repetition of each token counts', () => {
  // "bc" was followed by e and by d, "abc" by d.
  expect(losses('abcdhbcdgbceabc')).toEqual({ d: 2, e: 1 });
});

test('Dry: repetitions may overlap with the repeated text', () => {
  expect(losses('aaaa')).toEqual({ a: 2 });
});

test('Dry: only tokens within the range count', () => {
  expect(losses('abcdabc', { dryRange: 6 })).toEqual({ d: 1 });
  expect(losses('abcdabc', { dryRange: 4 })).toEqual({});
});

test('Dry: a passage counts up to the nearest breaker', () => {
  expect(losses('ab\ncdegab\ncde', {}, ['\n'])).toEqual({ g: 2 });
  expect(losses('abcgabc', {}, ['c'])).toEqual({});
});

test('Dry: the penalty stays finite', () => {
  const [loss] = Object.values(losses('a'.repeat(400)));
  expect(loss).toBe(2 ** 127);
});

test('Dry: no change when disabled', () => {
  expect(losses('abcdabc', { dryMultiplier: 0 })).toEqual({});
  expect(losses('abcdabc', { dryBase: 0 })).toEqual({});
});

test('Dry: no state between tokens', () => {
  const dry = new Dry(settings, 1000, letters.size);
  const first = new Float32Array(letters.size);
  dry.penalise(first, history('abcdabc'), 7);
  const second = new Float32Array(letters.size);
  dry.penalise(second, history('abcdabce'), 8);
  expect([...second]).toEqual([...second].fill(0));
});

const anyText = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 60 });

test('commonSuffixes: same as naive comparison', () => {
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

test('Dry: penalties equal those of the definition', () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 1, max: 4 }), fc.boolean(), (tokens, dryAllowedLength, broken) => {
      const breakers = broken ? dryBreakers(['c'], letters) : undefined;
      const limit = broken ? tokens.length - 1 - tokens.lastIndexOf(2) : tokens.length;
      const expected = new Float32Array(letters.size);
      for (let end = 1; end < tokens.length && limit > dryAllowedLength; end += 1) {
        let common = 0;
        while (common < end && tokens[end - 1 - common] === tokens[tokens.length - 1 - common]) common += 1;
        common = Math.min(common, limit);
        const token = tokens[end] as number;
        if (common >= dryAllowedLength)
          expected[token] = Math.min(expected[token] as number, -(1.5 ** (common - dryAllowedLength)));
      }
      const logits = new Float32Array(letters.size);
      const dry = new Dry(
        { dryMultiplier: 1, dryBase: 1.5, dryAllowedLength, dryRange: 0 },
        1000,
        letters.size,
        breakers,
      );
      dry.penalise(logits, Int32Array.from(tokens), tokens.length);
      expect([...logits]).toEqual([...expected]);
    }),
  );
});

const vocabulary = vocabularyOf(['x', 'a\n', '\n', 'Us', 'User', 'er', ':', 'e', 'r', 's', '。', 'あ。', 'U', 'sU']);
const after = (breakers: string[], tokens: number[]): number =>
  tokensAfterBreaker(dryBreakers(breakers, vocabulary), Int32Array.from(tokens), tokens.length, tokens.length);

test('dryBreakers: a token that contains the string is a breaker', () => {
  expect([...dryBreakers(['\n'], vocabulary).tails]).toEqual([
    [1, [new Int32Array()]],
    [2, [new Int32Array()]],
  ]);
  expect(after(['\n'], [0, 1, 0, 0])).toBe(2);
});

test('dryBreakers: a token that begins the string needs the rest after it', () => {
  expect(after(['User:'], [0, 3, 5, 6, 0, 0])).toBe(2);
  expect(after(['User:'], [0, 4, 6, 0])).toBe(1);
  expect(after(['User:'], [0, 3, 0, 0])).toBe(4);
  expect(after(['User:'], [0, 3])).toBe(2);
});

test('dryBreakers: a token that ends with a prefix of the string is a head', () => {
  expect(after(['User'], [13, 9, 5, 0])).toBe(1);
});

test('tokensAfterBreaker: uses the nearest breaker', () => {
  expect(after(['\n', ':'], [2, 0, 6, 0, 0, 0])).toBe(3);
  expect(after([], [0, 0])).toBe(2);
});

test('dryBreakers: a string without ASCII is matched as a whole only', () => {
  expect([...dryBreakers(['。あ'], vocabulary).tails.keys()]).toEqual([]);
  expect([...dryBreakers(['。'], vocabulary).tails.keys()]).toEqual([10, 11]);
});

test('dryBreakers: limits of 40 bytes, 20 tail tokens and 128 strings', () => {
  const long = dryBreakers([`U${'s'.repeat(60)}`], vocabulary);
  expect(long.tails.get(12)).toEqual([new Int32Array(20).fill(9)]);
  const wide = dryBreakers([`U${'。'.repeat(20)}`], vocabulary);
  expect(wide.tails.get(12)).toEqual([new Int32Array(13).fill(10)]);
  const many = [...new Array(128).fill('x'), ':'];
  expect([...dryBreakers(many, vocabulary).tails.keys()]).toEqual([0]);
});

test('dryBreakers: same as naive comparison of all strings and pieces', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '。'), minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fc.array(letters, { maxLength: 5 }), fc.array(letters, { maxLength: 8 }), (breakers, pieces) => {
      const known = { ...vocabularyOf(pieces), tokenize: (text: string) => [...text].map((one) => one.charCodeAt(0)) };
      const found = pieces.map((_, token) => {
        const tails = dryBreakers(breakers, known).tails.get(token) ?? [];
        return tails.map((tail) => String.fromCharCode(...tail)).sort();
      });
      expect(found).toEqual(pieces.map((piece) => [...new Set(breakers.flatMap((one) => rests(piece, one)))].sort()));
    }),
  );
});

function rests(piece: string, breaker: string): string[] {
  if (piece.includes(breaker)) return [''];
  if (!/[ab]/.test(breaker)) return [];
  const lengths = Array.from({ length: breaker.length - 1 }, (_, index) => index + 1);
  return lengths.filter((length) => piece.endsWith(breaker.slice(0, length))).map((length) => breaker.slice(length));
}
