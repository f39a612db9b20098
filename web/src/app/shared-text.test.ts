import { expect, test } from 'vitest';
import { sharedText } from './shared-text.ts';

test.each([
  [
    'title, text and address follow each other',
    { title: 'A page', text: 'Look', url: 'https://a.example' },
    'A page\nLook\nhttps://a.example',
  ],
  [
    'an address within the text is not repeated',
    { title: '', text: 'See https://a.example/b', url: 'https://a.example/b' },
    'See https://a.example/b',
  ],
  ['a title that is the text is not repeated', { title: 'Same', text: 'Same', url: '' }, 'Same'],
  ['parts of spaces are left out', { title: ' ', text: '\n', url: 'https://a.example' }, 'https://a.example'],
  ['nothing is nothing', { title: '', text: '', url: '' }, ''],
])('sharedText: %s', (_, words, text) => {
  expect(sharedText(words)).toBe(text);
});
