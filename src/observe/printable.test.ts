import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter } from '../core/testing/any-character.ts';
import { printable, printableText, shorten } from './printable.ts';

test.each([
  ['plain text, äöü and 漢字', 'plain text, äöü and 漢字'],
  ['\u001b[2Jgone', '\\x1b[2Jgone'],
  ['one\r\ntwo', 'one\\x0d\\x0atwo'],
  ['bell\u0007 and delete\u007f', 'bell\\x07 and delete\\x7f'],
  ['\u009b31m', '\\x9b31m'],
  ['turned \u202eround', 'turned \\u202eround'],
  ['next\u2028line', 'next\\u2028line'],
])('printable: %j becomes %j', (text, shown) => {
  expect(printable(text)).toBe(shown);
});

test('printable: one short line without control characters, for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 2000 }), (text) => {
      const shown = printable(text, 100);
      expect(shown).not.toMatch(/\p{Cc}/u);
      expect(shown.length).toBeLessThanOrEqual(103 * 6);
    }),
  );
});

test('printableText: keeps line breaks and tabs, escapes other control characters', () => {
  expect(printableText('one\n\ttwo\u001b[31m\r\nthree')).toBe('one\n\ttwo\\x1b[31m\\x0d\nthree');
});

test('shorten: keeps start and end', () => {
  expect(shorten('a'.repeat(10) + 'b'.repeat(10), 10)).toBe('aaaaa … bbbbb');
  expect(shorten('short', 10)).toBe('short');
});
