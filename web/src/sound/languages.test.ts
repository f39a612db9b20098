import { expect, test } from 'vitest';
import { languages } from './languages.ts';

test('languages: are sorted by name, each with its code', () => {
  const all = languages();
  expect(all[0]).toEqual({ code: 'af', name: 'Afrikaans' });
  expect(all).toContainEqual({ code: 'de', name: 'German' });
  expect(all).toContainEqual({ code: 'jw', name: 'Javanese' });
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
});

test('languages: those without a name in this browser have one of ours, or are left out', () => {
  const none = { of: () => undefined };
  expect(languages(['ba', 'bo', 'xx'], none)).toEqual([
    { code: 'ba', name: 'Bashkir' },
    { code: 'bo', name: 'Tibetan' },
  ]);
});

test('languages: only those that the model knows', () => {
  expect(languages(['en'])).toEqual([{ code: 'en', name: 'English' }]);
});
