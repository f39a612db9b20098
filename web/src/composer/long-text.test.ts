import { describe, expect, test } from 'vitest';
import { becomesFile, maxFieldText, partsOf, pastedName, sizeLabel } from './long-text.ts';

test.each([
  [12, '12 bytes'],
  [4300, '4 KB'],
  [1024 * 1023, '1.0 MB'],
  [5 * 1024 * 1024, '5.0 MB'],
  [42 * 1024 * 1024, '42 MB'],
])('sizeLabel: %i bytes are %s', (bytes, label) => {
  expect(sizeLabel(bytes)).toBe(label);
});

test('pastedName: counts bytes, not characters', () => {
  expect(pastedName('é'.repeat(1024))).toBe('Pasted text (2 KB)');
});

describe('becomesFile', () => {
  test('a paste above the limit of the settings becomes a file', () => {
    expect(becomesFile('x'.repeat(4000), 0, 4000)).toBe(false);
    expect(becomesFile('x'.repeat(4001), 0, 4000)).toBe(true);
  });

  test('without a limit, only what the field cannot hold becomes a file', () => {
    expect(becomesFile('x'.repeat(50_000), 0, 0)).toBe(false);
    expect(becomesFile('x'.repeat(50_000), maxFieldText - 49_999, 0)).toBe(true);
    expect(becomesFile('x'.repeat(maxFieldText + 1), 0, 1e9)).toBe(true);
  });
});

describe('partsOf', () => {
  test('short text is one part', () => {
    expect(partsOf('')).toEqual(['']);
    expect(partsOf('a\nb')).toEqual(['a\nb']);
  });

  test('cuts after line ends, or within a line that is too long', () => {
    expect(partsOf('aaaa\nbbbb\ncc', 8)).toEqual(['aaaa\n', 'bbbb\ncc']);
    expect(partsOf('a\nbbbbbbbbbbbb', 8)).toEqual(['a\nbbbbbb', 'bbbbbb']);
  });

  test('keeps surrogate pairs together, and joined parts are the text', () => {
    const text = '🦊'.repeat(9);
    const parts = partsOf(text, 7);
    expect(parts.every((part) => part.length % 2 === 0)).toBe(true);
    expect(parts.join('')).toBe(text);
  });
});
