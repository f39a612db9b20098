import { describe, expect, test } from 'vitest';
import { languageCode, languageName } from './languages.ts';

describe('languages', () => {
  test.each([
    ['en', 'english'],
    ['de', 'german'],
    ['zh', 'chinese'],
    ['jw', 'javanese'],
    ['haw', 'haw'],
  ])('languageName: %s is %s', (code, name) => {
    expect(languageName(code)).toBe(name);
  });

  test.each([
    ['en', 'en'],
    ['EN', 'en'],
    ['en-US', 'en'],
    ['pt_BR', 'pt'],
    ['English', 'en'],
    [' german ', 'de'],
    ['Mandarin', 'zh'],
    ['castilian', 'es'],
    ['klingon', undefined],
    ['xx', undefined],
    ['', undefined],
  ])('languageCode: %o is %o', (text, code) => {
    expect(languageCode(text)).toBe(code);
  });

  test('languageCode: finds every language by its name', () => {
    for (const code of ['af', 'cs', 'el', 'fi', 'he', 'ja', 'ko', 'my', 'nn', 'ro', 'sw', 'tl', 'uk', 'vi', 'yi']) {
      expect(languageCode(languageName(code)), code).toBe(code);
    }
  });
});
