import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { splitPhonemes, tokensOf } from './phonemes.ts';

describe('tokensOf', () => {
  test.each([
    ['həlˈO.', [50, 83, 54, 156, 31, 4]],
    ['; “”', [1, 16, 14, 15]],
    ['ᵻʔʒʎχ', [177, 148, 147, 143, 142]],
    ['ɑɐɒæ', [69, 70, 71, 72]],
    ['ɹɾɻʁ', [123, 125, 126, 128]],
    ['ˈˌːʰʲ', [156, 157, 158, 162, 164]],
    ['ʃʈʧʊʋ', [131, 132, 133, 135, 136]],
  ])('%s has the published numbers', (phonemes, tokens) => {
    expect(tokensOf(phonemes)).toEqual(tokens);
  });

  test('leaves out symbols that the model does not know', () => {
    expect(tokensOf('a€7b')).toEqual([43, 44]);
  });
});

describe('splitPhonemes', () => {
  test('splits behind a mark, else behind a word, else anywhere', () => {
    expect(splitPhonemes('aaaa, bbbb cc', 10)).toEqual(['aaaa,', 'bbbb cc']);
    expect(splitPhonemes('aaaa bbbb cccc', 10)).toEqual(['aaaa bbbb', 'cccc']);
    expect(splitPhonemes('aaaaaaaaaaaa', 10)).toEqual(['aaaaaaaaaa', 'aa']);
  });

  test('loses nothing but spaces, and no part is too long', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', ' ', ',', '.') }),
        fc.integer({ min: 1, max: 9 }),
        (text, most) => {
          const parts = splitPhonemes(text, most);
          expect(parts.join('').replace(/ /g, '')).toBe(text.replace(/ /g, ''));
          for (const part of parts) expect(part.length).toBeLessThanOrEqual(most);
        },
      ),
    );
  });
});
