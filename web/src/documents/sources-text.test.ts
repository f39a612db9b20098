import { expect, test } from 'vitest';
import { sourcesText } from './sources-text.ts';

test('sourcesText: numbered, with title and address, in fences longer than those of the text', () => {
  const text = sourcesText([
    { title: 'notes.md, Ships', text: 'A `boat`.\n' },
    { title: 'Harbour', url: 'https://a.example/', text: '```\ncode\n```' },
  ]);
  expect(text).toBe(
    'Sources. Cite the number of each that you use in brackets, such as [1], after the sentence that it supports:\n\n[1] notes.md, Ships\n```\nA `boat`.\n```\n\n' +
      '[2] Harbour (https://a.example/)\n````\n```\ncode\n```\n````',
  );
  expect(sourcesText([])).toBe('');
});
