import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PhraseFinder, phraseTree } from './phrase-finder.ts';

/** What is read before the first phrase, that phrase, and what is left; found by looking at every place. */
function naive(phrases: readonly string[], text: string) {
  for (let end = 1; end <= text.length; end += 1) {
    const found = phrases
      .filter((phrase) => phrase !== '' && text.slice(0, end).endsWith(phrase))
      .sort((a, b) => b.length - a.length)[0];
    if (found !== undefined) return { text: text.slice(0, end - found.length), phrase: found, rest: text.slice(end) };
  }
  return { text, phrase: undefined, rest: '' };
}

function found(phrases: readonly string[], pieces: readonly string[]) {
  const finder = new PhraseFinder(phraseTree(phrases));
  let text = '';
  for (const [index, piece] of pieces.entries()) {
    const step = finder.push(piece);
    text += step.text;
    if (!step.match) continue;
    return { text, phrase: step.match.phrase, rest: step.match.rest + pieces.slice(index + 1).join('') };
  }
  return { text: text + finder.flush(), phrase: undefined, rest: '' };
}

describe('PhraseFinder', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 5 });

  test('finds the same as a naive search, however the text is cut', () => {
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 5 }), fc.array(letters, { maxLength: 8 }), (phrases, pieces) => {
        expect(found(phrases, pieces)).toEqual(naive(phrases, pieces.join('')));
      }),
      { numRuns: 1000 },
    );
  });

  test('holds back only what could become a phrase', () => {
    const finder = new PhraseFinder(phraseTree(['abcd', 'bce']));
    expect(finder.push('xxabc')).toEqual({ text: 'xx' });
    expect(finder.push('x')).toEqual({ text: 'abcx' });
    expect(finder.push('ab')).toEqual({ text: '' });
    expect(finder.push('ce')).toEqual({ text: 'a', match: { phrase: 'bce', rest: '' } });
    expect(finder.flush()).toBe('');
  });

  test('starts again after a phrase', () => {
    const finder = new PhraseFinder(phraseTree(['ab']));
    expect(finder.push('abab')).toEqual({ text: '', match: { phrase: 'ab', rest: 'ab' } });
    expect(finder.push('ab')).toEqual({ text: '', match: { phrase: 'ab', rest: '' } });
  });
});

describe('PhraseFinder: hostile phrases', () => {
  test('thousands with a common prefix cost no more than one', () => {
    const phrases = Array.from({ length: 5000 }, (_, index) => `aaaaaaaa${index}.`);
    expect(found(phrases, [`${'a'.repeat(100_000)}4999.`]).phrase).toBe('aaaaaaaa4999.');
  });

  test('one that nearly matches everywhere', () => {
    const phrase = `${'a'.repeat(20_000)}b`;
    const pieces = Array.from({ length: 10_000 }, () => 'aaaa');
    expect(found([phrase], [...pieces, 'b']).phrase).toBe(phrase);
    expect(found([phrase], [...pieces, 'c']).phrase).toBeUndefined();
  });
});
