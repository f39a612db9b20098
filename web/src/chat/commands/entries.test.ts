import { expect, test } from 'vitest';
import { entriesFor, type Possible } from './entries.ts';

const all: Possible = { hasModel: true, hasImages: true, hasSearch: true, begun: true, characters: true, models: 2 };
const reply = { id: 'q', label: 'Retell', text: 'Tell it again.', send: true, button: true };
const labels = (query: string, possible: Partial<Possible> = {}) =>
  entriesFor(query, { ...all, ...possible }, [reply]).map(({ label }) => label);

test('entriesFor: those that begin with what is typed come first, with own quick replies', () => {
  expect(labels('re')).toEqual(['retry', 'Retell', 'compare']);
  expect(labels('SUM')).toEqual(['summarize']);
  expect(labels('nothing')).toEqual([]);
  expect(labels('')).toHaveLength(11);
});

test('entriesFor: commands that the server or the chat cannot do are left out', () => {
  expect(labels('', { hasImages: false, hasSearch: false, characters: false, begun: false, models: 1 })).toEqual([
    'system',
    'compare',
    'new',
    'Retell',
  ]);
});
