import { expect, test } from 'vitest';
import { citableSpans, documentSources } from './citable.ts';

const spans = (text: string) =>
  citableSpans(text, { start: 0, end: text.length }).map(({ start, end }) => text.slice(start, end));
const sentence = 'The lighthouse was built in the year 1871, and its keeper was Ada. ';

test('citableSpans: a short text is one span, without the space around it', () => {
  expect(spans('  The grass is green.\n')).toEqual(['The grass is green.']);
  expect(spans(' \n ')).toEqual([]);
});

test('citableSpans: paragraphs are spans, and a short one belongs to the next', () => {
  const paragraph = sentence.repeat(2).trim();
  expect(spans(`# Title\n\n${paragraph}\n\n${paragraph}`)).toEqual([`# Title\n\n${paragraph}`, paragraph]);
});

test('citableSpans: a long paragraph is cut between sentences', () => {
  const parts = spans(sentence.repeat(30));
  expect(parts.length).toBeGreaterThan(3);
  for (const part of parts) expect([part.length <= 600, part.endsWith('.')]).toEqual([true, true]);
  expect(parts.join(' ')).toBe(sentence.repeat(30).trim());
});

test('documentSources: characters of a text, pages of a PDF', () => {
  const of = { title: 'T', index: 3, file: 'file-1' };
  const section = { headings: [], kind: 'text' as const };
  expect(documentSources({ title: '', text: ' a.', sections: [] }, of)).toEqual([
    {
      url: '',
      title: 'T',
      text: 'a.',
      location: { type: 'document', index: 3, file: 'file-1', range: { type: 'characters', start: 1, end: 3 } },
    },
  ]);
  const sections = [
    { ...section, start: 0, end: 2, page: 1 },
    { ...section, start: 2, end: 4, page: 2 },
  ];
  const pdf = documentSources({ title: '', text: 'a\nb\n', sections, pages: 2 }, of);
  expect(pdf.map(({ text, location: place }) => [text, place?.type === 'document' && place.range])).toEqual([
    ['a', { type: 'page', page: 1 }],
    ['b', { type: 'page', page: 2 }],
  ]);
});
