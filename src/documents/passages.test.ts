import { describe, expect, test } from 'vitest';
import type { ExtractedDocument } from '../core/documents.ts';
import { whole } from '../core/slices.ts';
import { readDocument } from './formats/read-document.ts';
import { embeddedText, type PassageSpan, passagesOf, passageText } from './passages.ts';
import { estimateTokens } from './tokens.ts';

const read = (text: string, name = 'notes.md') => readDocument(name, new TextEncoder().encode(text));
const cut = (document: ExtractedDocument): PassageSpan[] => whole(passagesOf(document));
const sentence = (number: number): string => `Sentence number ${number} tells something about the harbour of the town.`;
const sentences = (from: number, count: number): string =>
  Array.from({ length: count }, (_, index) => sentence(from + index)).join(' ');

/** The text that is in no passage. */
function lost(text: string, passages: readonly PassageSpan[]): string {
  const kept = [...text];
  for (const { start, end } of passages) kept.fill('', start, end);
  return kept.join('').trim();
}

describe('passagesOf: structure', () => {
  test('a short text is one passage, without the white space around it', async () => {
    expect(cut(await read('\n  Hello there. \n\n'))).toEqual([{ start: 3, end: 15, headings: [], line: 2 }]);
  });

  test('a heading begins a passage, which has the path of its headings and its line', async () => {
    const text = `# Harbour\n\n${sentences(1, 6)}\n\n## Ships\n\n${sentences(10, 6)}\n\n# Town\n\n${sentences(20, 6)}`;
    const passages = cut(await read(text));
    expect(passages.map(({ headings }) => headings)).toEqual([['Harbour'], ['Harbour', 'Ships'], ['Town']]);
    expect(passages.map(({ line }) => line)).toEqual([1, 5, 9]);
    expect(passages.map(({ start }) => text.slice(start, start + 7))).toEqual(['# Harbo', '## Ship', '# Town\n']);
  });

  test('short sections below one heading are one passage with the path that they share', async () => {
    const passages = cut(await read('# Fruit\n\n## Apple\n\nRed.\n\n## Plum\n\nBlue.'));
    expect(passages).toMatchObject([{ headings: ['Fruit'] }]);
  });

  test('a heading does not end a passage', async () => {
    const text = `${sentences(1, 3)}\n\n# Ships\n\n${sentences(10, 15)}`;
    const passages = cut(await read(text));
    expect(passages.map(({ start }) => text.slice(start, start + 7))[1]).toBe('# Ships');
  });

  test('paragraphs do not overlap, and a paragraph that is cut does', async () => {
    const paragraphs = Array.from({ length: 8 }, (_, index) => sentences(index * 10, 6)).join('\n\n');
    for (const [text, overlaps] of [
      [paragraphs, false],
      [sentences(1, 60), true],
    ] as const) {
      const passages = cut(await read(text));
      expect(passages.length).toBeGreaterThan(2);
      expect(passages.some(({ start }, index) => start < (passages[index - 1]?.end ?? 0))).toBe(overlaps);
    }
  });

  test('the rows of a table repeat its header', async () => {
    const rows = Array.from({ length: 60 }, (_, index) => `| ship ${index} | ${index * 7} tons | Harbour street |`);
    const text = `# Ships\n\n| Name | Load | Address |\n| --- | --- | --- |\n${rows.join('\n')}\n\nBehind the table.`;
    const passages = cut(await read(text));
    expect(passages.length).toBeGreaterThan(3);
    const second = passages[1] as PassageSpan;
    expect(second.header).toBe('| Name | Load | Address |\n| --- | --- | --- |');
    expect(passageText(text, second)).toMatch(
      /^\| Name \| Load \| Address \|\n\| --- \| --- \| --- \|\n\| ship \d+ \|/,
    );
    expect(lost(text, passages)).toBe('');
  });

  test.each([
    ['one word of 5,000 characters', 'x'.repeat(5000)],
    ['a script without spaces', '海辺の町に灯台がある。'.repeat(300)],
    ['pairs of code units', '😀'.repeat(2000)],
    ['many short lines', 'a line\n'.repeat(2000)],
    ['rows without a header', 'name | price | colour\n'.repeat(500)],
    ['signs', '{[(<>)]};'.repeat(1000)],
    ['headings only', '# A heading\n'.repeat(1000)],
    ['a fence without an end', `\`\`\`\n${'x = y + 1\n'.repeat(500)}`],
  ])('loses nothing and stays within its size: %s', async (_, text) => {
    const passages = cut(await read(text));
    expect(lost(text, passages)).toBe('');
    for (const { start, end, header } of passages) {
      expect(estimateTokens(text, start, end) + estimateTokens(header ?? '')).toBeLessThanOrEqual(180);
      // Throws if a character is cut in half.
      encodeURIComponent(text.slice(start, end));
    }
  });
});

describe('passagesOf: static', () => {
  test('windows of at most that many tokens, which overlap by at most that many', async () => {
    const text = `# One\n\n${sentences(1, 40)}\n\n# Two\n\n${sentences(50, 40)}`;
    const document = await read(text);
    const passages = whole(passagesOf(document, { type: 'static', maxTokens: 100, overlapTokens: 40 }));
    expect(lost(text, passages)).toBe('');
    for (const [index, { start, end }] of passages.entries()) {
      expect(estimateTokens(text, start, end)).toBeLessThanOrEqual(100);
      const next = passages[index + 1];
      if (next && next.start < end) expect(estimateTokens(text, next.start, end)).toBeLessThanOrEqual(40);
    }
    expect(passages.filter(({ start }, index) => start < (passages[index - 1]?.end ?? 0)).length).toBe(
      passages.length - 1,
    );
    expect(passages.at(-1)?.headings).toEqual(['Two']);
  });
});

test('embeddedText: the headings stand before the text', async () => {
  const text = '# Harbour\n\nBoats.';
  const [passage] = cut(await read(text));
  expect(embeddedText('notes.md', text, passage as PassageSpan)).toBe('notes.md > Harbour\n# Harbour\n\nBoats.');
});
