import { expect, test } from 'vitest';
import { CitationMarks } from './citation-marks.ts';

const sources = ['a', 'b', 'c'].map((title) => ({ source: { url: `/${title}`, title, text: '' }, fetched: false }));

function marked(text: string, pieceLength: number, marks: 'keep' | 'strip', own = sources): string {
  const reader = new CitationMarks(own, marks);
  let shown = '';
  for (let start = 0; start < text.length; start += pieceLength) {
    for (const piece of reader.push(text.slice(start, start + pieceLength))) {
      shown += piece.type === 'text' ? piece.text : `<${piece.source.title}>`;
    }
  }
  for (const piece of reader.finish()) shown += piece.type === 'text' ? piece.text : `<${piece.source.title}>`;
  return shown;
}

const text = 'Green [1]. Blue [9], red [2, 7][3] `a[1] [9]` and [note] [1';

test.each([1, 2, 5, 1000])('CitationMarks: drops numbers of no source, in pieces of %i characters', (length) => {
  expect(marked(text, length, 'keep')).toBe('Green [1]. Blue, red [2][3] `a[1] [9]` and [note] [1');
});

test.each([1, 3, 1000])('CitationMarks: strip takes valid marks out too, in pieces of %i characters', (length) => {
  expect(marked(text, length, 'strip')).toBe('Green.<a> Blue, red<b><c> `a[1] [9]` and [note] [1');
});

test('CitationMarks: without sources every text stays as it is', () => {
  expect(marked(text, 3, 'strip', [])).toBe(text);
});

test('CitationMarks: spaces and brackets that are no marks are kept in order', () => {
  for (const plain of ['a  [ 1] [[2]x', ' [', '  ', 'x[1,2,3,4,5,6,7,8,9,10,11]', '[12345] [a] [1;2]']) {
    for (const length of [1, 2, 99]) expect(marked(plain, length, 'keep')).toBe(plain);
  }
});

test('CitationMarks: citations at the end are not lost', () => {
  expect(marked('Green [1][2].', 2, 'strip')).toBe('Green.<a><b>');
  expect(marked('Green [3]', 2, 'strip')).toBe('Green<c>');
});
