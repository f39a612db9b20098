import { expect, test } from 'vitest';
import { sourceTitle, titleOf } from './passage-title.ts';

test('titleOf: a passage is named by its document, with page, headings or line', () => {
  expect(titleOf({ name: 'a.pdf', page: 3, headings: [] })).toBe('a.pdf, page 3');
  expect(titleOf({ name: 'a.pdf', page: 3, headings: ['Lamp', 'Evening'] })).toBe('a.pdf, page 3, Lamp › Evening');
  expect(titleOf({ name: 'a.md', headings: ['Lamp'], line: 7 })).toBe('a.md, Lamp');
  expect(titleOf({ name: 'a.ts', line: 7 })).toBe('a.ts, line 7');
  expect(titleOf({ name: 'a.txt' })).toBe('a.txt');
});

test('titleOf: is in the language of its words', () => {
  const german = { page: (page: number) => `Seite ${page}`, line: (line: number) => `Zeile ${line}` };
  expect(titleOf({ name: 'a.pdf', page: 3, headings: ['Lampe'] }, german)).toBe('a.pdf, Seite 3, Lampe');
  expect(titleOf({ name: 'a.ts', line: 7 }, german)).toBe('a.ts, Zeile 7');
});

test('sourceTitle: is made of the location, which older messages have not', () => {
  const location = { name: 'a.pdf', page: 3 };
  expect(sourceTitle({ title: 'as sent', location })).toBe('a.pdf, page 3');
  expect(sourceTitle({ title: 'as sent' })).toBe('as sent');
});
