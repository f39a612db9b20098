import { expect, test } from 'vitest';
import { languages } from './languages.ts';

test('languages: are sorted by name, each with its code', () => {
  const all = languages();
  expect(all[0]).toEqual({ code: 'af', name: 'Afrikaans' });
  expect(all).toContainEqual({ code: 'de', name: 'German' });
  expect(all).toContainEqual({ code: 'jw', name: 'Javanese' });
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
});
