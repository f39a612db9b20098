import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { headOf, isLong, partAt, partsOf, sizeText } from './long-text.ts';

describe('isLong', () => {
  test('counts characters and lines, and allows more in replies', () => {
    expect(isLong('x'.repeat(6000), 'user')).toBe(false);
    expect(isLong('x'.repeat(6001), 'user')).toBe(true);
    expect(isLong('x\n'.repeat(59), 'user')).toBe(false);
    expect(isLong('x\n'.repeat(61), 'user')).toBe(true);
    expect(isLong('x\n'.repeat(61), 'assistant')).toBe(false);
    expect(isLong('x'.repeat(50_001), 'assistant')).toBe(true);
  });
});

describe('headOf', () => {
  test('ends at a line, or within a long one', () => {
    expect(headOf('short')).toBe('short');
    expect(headOf('a line\n'.repeat(99))).toBe('a line\n'.repeat(15).trimEnd());
    expect(headOf('x'.repeat(9000))).toBe('x'.repeat(1500));
  });

  test('never splits a character', () => {
    expect(headOf(`x${'🦊'.repeat(4000)}`)).toMatch(/^x(🦊)+$/u);
  });
});

describe('partsOf', () => {
  test('cuts at empty lines', () => {
    const paragraph = `${'word '.repeat(400)}\n\n`;
    const parts = partsOf(paragraph.repeat(40));
    expect(parts.length).toBeGreaterThan(5);
    for (const { markdown } of parts) expect(markdown.endsWith('\n\n')).toBe(true);
    expect(parts.map(({ markdown }) => markdown).join('')).toBe(paragraph.repeat(40));
  });

  test('opens a code block again in the next part', () => {
    const parts = partsOf(`Code:\n\n\`\`\`js\n${'let a = 1;\n\n'.repeat(9000)}\`\`\`\n\nThe end.`);
    expect(parts.length).toBeGreaterThan(3);
    for (const { markdown } of parts.slice(1, -1)) expect(markdown.startsWith('```js\n')).toBe(true);
    expect(parts.at(-1)?.markdown).toBe('The end.');
  });

  test('is bounded for any text, and loses nothing', () => {
    const piece = fc.constantFrom('x'.repeat(30_000), '🦊'.repeat(9000), 'line\n'.repeat(5000), '\n\n', 'a', '~~~\n');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const text = pieces.join('');
        const parts = partsOf(text);
        const ends = [...parts.slice(1).map(({ offset }) => offset), text.length];
        parts.forEach(({ offset, markdown }, index) => {
          expect(markdown.endsWith(text.slice(offset, ends[index]))).toBe(true);
          expect(markdown.length).toBeLessThan(8300);
        });
        expect(parts[0]?.offset ?? 0).toBe(0);
      }),
      { numRuns: 50 },
    );
  });
});

test('partAt: finds the part of a position', () => {
  const parts = [0, 10, 20].map((offset) => ({ offset, markdown: '' }));
  expect([0, 9, 10, 25].map((offset) => partAt(parts, offset))).toEqual([0, 0, 1, 2]);
});

test('sizeText: counts in KB and MB', () => {
  expect(sizeText('x'.repeat(6400))).toBe('6 KB');
  expect(sizeText('x'.repeat(5_200_000))).toBe('5.2 MB');
});
