import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chunksOf, paragraphsOf, piecesOf } from './layout.ts';
import { editPart, split } from './passages.ts';
import { newPassage, textOf } from './story.ts';
import { counting, storyOfTexts } from './testing/stories.ts';

const shown = (texts: readonly string[]) =>
  paragraphsOf(storyOfTexts(texts)).map(({ pieces }) => pieces.map(({ text }) => text).join('|'));

describe('paragraphsOf: story', () => {
  test('joins passages within a paragraph', () => {
    expect(shown(['She opened', ' the door.\n\nIt was', ' dark.'])).toEqual(['She opened| the door.', 'It was| dark.']);
  });

  test('has a gap only after an empty line', () => {
    const [first, second, last] = paragraphsOf(storyOfTexts(['One.\n\nTwo.\nThree.']));
    expect([first?.gap, second?.gap, last?.gap]).toEqual([true, false, false]);
  });

  test('returns at most one empty paragraph per empty passage', () => {
    expect(shown([])).toEqual([]);
    expect(shown([''])).toEqual(['']);
    expect(shown(['\n\n'])).toEqual(['']);
  });

  test('returns the same objects for unchanged paragraphs', () => {
    const story = storyOfTexts(['One.\n\n', 'Two.\n\n', 'Three.']);
    const before = paragraphsOf(story);
    const after = paragraphsOf(editPart(story, 'b', 0, 3, 'Zwei'));
    expect(after.map((paragraph, index) => paragraph === before[index])).toEqual([true, false, true]);
    expect(paragraphsOf(story).every((paragraph, index) => paragraph === before[index])).toBe(true);
  });

  test('gives each paragraph a unique key', () => {
    const keys = paragraphsOf(storyOfTexts(['a\nb\nc', 'd\n\ne'])).map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  });
});

describe('paragraphsOf: turns', () => {
  test('marks the first and last paragraph of each turn', () => {
    const turns = paragraphsOf(storyOfTexts(['Hello.', 'me:Yes?\n\nGo on.'], { mode: 'chat' }));
    expect(turns.map(({ opens, closes, by }) => [opens, closes, by])).toEqual([
      [true, true, 'model'],
      [true, false, 'person'],
      [false, true, 'person'],
    ]);
  });

  test('returns the same objects for unchanged passages', () => {
    const story = storyOfTexts(['One.', 'Two.'], { mode: 'instruct' });
    expect(paragraphsOf(story)[0]).toBe(paragraphsOf(editPart(story, 'b', 0, 1, 't'))[0]);
  });
});

test('piecesOf: pieces and line breaks add up to the passage', () => {
  const part = fc.constantFrom('a', 'word ', '\n', '\n\n', '…');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
      const passage = newPassage('p', 'model', parts.join(''));
      const pieces = piecesOf(passage);
      expect(pieces.map(({ text, breaks }) => text + '\n'.repeat(breaks)).join('')).toBe(textOf(passage));
      for (const { start, end, text } of pieces) expect(textOf(passage).slice(start, end)).toBe(text);
    }),
  );
});

describe('chunksOf', () => {
  const passages = split(`${'A sentence of a story. '.repeat(20).trim()}\n\n`.repeat(400), 'model', counting());
  const story = storyOfTexts([], { passages });
  const chunks = chunksOf(paragraphsOf(story));

  test('keeps all paragraphs, in chunks of limited size', () => {
    expect(chunks.flatMap(({ paragraphs }) => paragraphs)).toEqual(paragraphsOf(story));
    const lengths = chunks.map(({ paragraphs }) =>
      paragraphs.flatMap(({ pieces }) => pieces).reduce((sum, { text }) => sum + text.length, 0),
    );
    expect(Math.max(...lengths)).toBeLessThan(12_000 + 2 * 4000);
    expect(new Set(chunks.map(({ key }) => key)).size).toBe(chunks.length);
  });

  test('changes only the edited chunk', () => {
    expect(chunksOf(paragraphsOf(story)).every((chunk, index) => chunk === chunks[index])).toBe(true);
    const middle = passages[Math.floor(passages.length / 2)]?.id ?? '';
    const after = chunksOf(paragraphsOf(editPart(story, middle, 5, 5, 'x\n\ny')));
    expect(after.filter((chunk) => !chunks.includes(chunk))).toHaveLength(1);
  });

  test('returns nothing for an empty story', () => {
    expect(chunksOf([])).toEqual([]);
  });
});

test('piecesOf: marks the reasoning of the model', () => {
  const pieces = piecesOf(newPassage('a', 'model', '<think>Hm.\n\nSo.</think>\n\nYes.'));
  expect(pieces.map(({ thought }) => thought)).toEqual([true, true, false]);
  expect(piecesOf(newPassage('a', 'person', '<think>x')).map(({ thought }) => thought)).toEqual([false]);
});
