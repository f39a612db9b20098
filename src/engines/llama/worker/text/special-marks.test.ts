import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutAtMarks, cuttingMarks } from './special-marks.ts';

const special = (text: string, keepsBefore = true) => ({ text, keepsBefore });
const marksOf = (...texts: string[]) => cuttingMarks(texts.map((text) => special(text)));

describe('where a text may be cut', () => {
  test('before a special token', () => {
    expect('a<s>b</s>'.match(marksOf('<s>', '</s>') ?? /$/)).toEqual(['<s>', '</s>']);
  });

  test('not before one that takes the spaces in front of it', () => {
    expect(cuttingMarks([special('<mask>', false)])).toBeUndefined();
  });

  test('not before one that is part of another', () => {
    expect('<<a>'.match(marksOf('<a>', '<<a>') ?? /$/)).toEqual(['<<a>']);
    expect('a<a>b'.match(marksOf('<a>', '<a>b') ?? /$/)).toEqual(['<a>b']);
  });

  test('not before one that another may run into', () => {
    expect(marksOf('ab', 'bc')?.source).toBe('ab');
    expect(marksOf('aba')).toBeUndefined();
  });

  test('marks are texts, whatever signs they have', () => {
    expect('x[/INST]y<|a|>'.match(marksOf('[/INST]', '<|a|>') ?? /$/)).toEqual(['[/INST]', '<|a|>']);
  });

  test('nowhere in a vocabulary that would take too long to look at', () => {
    expect(marksOf('<s>', 'x'.repeat(1_000_000))).toBeUndefined();
    expect(marksOf(...Array.from({ length: 30_000 }, (_, index) => `<${index}>`))).toBeUndefined();
  });

  test('nowhere without special tokens', () => {
    expect(cuttingMarks([])).toBeUndefined();
    expect(cuttingMarks([special('')])).toBeUndefined();
  });
});

describe('a text in pieces', () => {
  const marks = marksOf('<s>', '</s>');

  test('is the whole text, and each piece but the first begins with a mark', () =>
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('<s>', '</s>', 'a', '<', 's>', '🙂')),
        fc.integer({ min: 1, max: 9 }),
        (words, size) => {
          const text = words.join('');
          const pieces = cutAtMarks(text, marks, size);
          expect(pieces.join('')).toBe(text);
          for (const piece of pieces.slice(1)) expect(piece).toMatch(/^<\/?s>/);
          for (const piece of pieces.slice(0, -1)) expect(piece.length).toBeGreaterThanOrEqual(size);
        },
      ),
    ));

  test('pieces are no longer than they need to be', () => {
    const pieces = cutAtMarks('<s>a'.repeat(1000), marks, 100);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(104);
  });

  test('without marks there is one', () => {
    expect(cutAtMarks('abc', undefined, 1)).toEqual(['abc']);
    expect(cutAtMarks('abc', marks, 1)).toEqual(['abc']);
  });
});
