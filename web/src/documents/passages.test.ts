import { describe, expect, test } from 'vitest';
import { mergedPassages, type Passage, passagesOf } from './passages.ts';

function cut(text: string): Passage[] {
  const work = passagesOf(text);
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
const sentence = (number: number): string => `Sentence number ${number} tells something about the harbour of the town.`;
const sentences = (from: number, count: number): string =>
  Array.from({ length: count }, (_, index) => sentence(from + index)).join(' ');

/** The text that is in no passage. */
function lost(text: string, passages: readonly Passage[]): string {
  const kept = [...text];
  for (const { start, end } of passages) kept.fill('', start, end);
  return kept.join('').trim();
}

describe('passagesOf', () => {
  test('a short text is one passage, without the white space around it', () => {
    expect(cut('\n  Hello there. \n\n')).toEqual([{ start: 3, end: 15 }]);
    expect(cut(' \n ')).toEqual([]);
  });

  test('long texts: passages have up to 1,000 characters and overlap by whole sentences', () => {
    const text = sentences(1, 100);
    const passages = cut(text);
    expect(passages.length).toBeGreaterThan(5);
    for (const [index, { start, end }] of passages.entries()) {
      expect(end - start).toBeLessThanOrEqual(1000);
      const next = passages[index + 1];
      if (next) expect(next.start).toBeLessThanOrEqual(end);
    }
    expect(lost(text, passages)).toBe('');
  });

  test('headings begin a passage and name it', () => {
    const text = `# Harbour\n\n${sentences(1, 6)}\n\n## Ships\n\n${sentences(10, 6)}\n\n[Page 2]\n${sentences(20, 6)}`;
    const passages = cut(text);
    expect(passages.map(({ heading }) => heading)).toEqual(['Harbour', 'Ships', 'Page 2']);
    expect(passages.map(({ start }) => text.slice(start, start + 8))).toEqual(['# Harbou', '## Ships', '[Page 2]']);
  });

  test('headings close to each other stay together', () => {
    const passages = cut('# One\n\nA word.\n\n# Two\n\nAnother word.');
    expect(passages).toHaveLength(1);
    expect(passages[0]?.heading).toBe('One');
  });

  test('a passage that is long enough ends with its paragraph', () => {
    const text = `${sentences(1, 11)}\n\n${sentences(20, 11)}`;
    expect(text.slice(cut(text)[0]?.start, cut(text)[0]?.end)).toBe(sentences(1, 11));
  });

  test.each([
    ['one word of 5,000 characters', 'x'.repeat(5000)],
    ['a script without spaces', '海辺の町に灯台がある。'.repeat(300)],
    ['pairs of code units', '😀'.repeat(2000)],
    ['many short lines', 'a line\n'.repeat(2000)],
    ['tables', 'name | price | colour\n'.repeat(500)],
  ])('loses nothing and stays short: %s', (_, text) => {
    const passages = cut(text);
    expect(lost(text, passages)).toBe('');
    for (const { start, end } of passages) {
      expect(end - start).toBeLessThanOrEqual(1000);
      // Throws if a character is cut in half.
      encodeURIComponent(text.slice(start, end));
    }
  });

  test('needs linear time: a text without any break', () => {
    // Counted by the passages, which a quadratic cut could not reach within the time of a test.
    expect(cut('x'.repeat(2_000_000)).length).toBeGreaterThan(1500);
  });
});

test('mergedPassages: joins neighbours, keeps the first heading, sorts', () => {
  const merged = mergedPassages([
    { start: 500, end: 900, heading: 'B' },
    { start: 0, end: 200, heading: 'A' },
    { start: 150, end: 300 },
    { start: 301, end: 400 },
  ]);
  expect(merged).toEqual([
    { start: 0, end: 400, heading: 'A' },
    { start: 500, end: 900, heading: 'B' },
  ]);
});
