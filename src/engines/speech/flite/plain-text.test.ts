import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plainText } from './plain-text.ts';

describe('a text for a voice that knows ASCII alone', () => {
  test.each([
    ['plain words', 'Hello, world!', 'Hello, world!'],
    ['marks on letters', 'naïve café Ångström', 'naive cafe Angstrom'],
    ['letters that are two', 'Straße, æther, œuvre', 'Strasse, aether, oeuvre'],
    ['letters with a stroke', 'Łódź Ørsted', 'Lodz Orsted'],
    ['quotation marks', '“Don’t,” she said', '"Don\'t," she said'],
    ['dashes', 'yes—no', 'yes - no'],
    ['dots', 'well…', 'well...'],
    ['money', '5€', '5 euros '],
    ['ligatures', 'ﬁne', 'fine'],
    ['wide letters', 'ＡＢＣ', 'ABC'],
    ['lines', 'a\nb\tc', 'a\nb\tc'],
  ])('%s', (_, sent, text) => {
    expect(plainText(sent)).toEqual({ text, lost: 0 });
  });

  test('counts letters that it cannot say', () => {
    expect(plainText('Tokyo 東京')).toEqual({ text: 'Tokyo   ', lost: 2 });
    expect(plainText('Привет')).toMatchObject({ lost: 6 });
  });

  test('leaves pictures out without a word: they are nothing to be said', () => {
    expect(plainText('fine 🙂!')).toEqual({ text: 'fine  !', lost: 0 });
  });

  test('has no byte that ends a text', () => {
    expect(plainText('a\0b\u001bc').text).toBe('a b c');
  });

  test('is ASCII whatever was sent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (sent) => {
        expect(plainText(sent).text).toMatch(/^[\t\n\r\x20-\x7e]*$/);
      }),
    );
  });
});
