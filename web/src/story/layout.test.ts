import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chunksOf, paragraphsOf, piecesOf } from './layout.ts';
import { editPart, split } from './passages.ts';
import { newPassage, textOf } from './story.ts';
import { counting, storyOfTexts } from './testing/stories.ts';

const shown = (texts: readonly string[]) =>
  paragraphsOf(storyOfTexts(texts)).map(({ pieces }) => pieces.map(({ text }) => text).join('|'));

describe('a story', () => {
  test('flows from one passage into the next', () => {
    expect(shown(['She opened', ' the door.\n\nIt was', ' dark.'])).toEqual(['She opened| the door.', 'It was| dark.']);
  });

  test('has a gap where a line is empty, and none in a dialogue', () => {
    const [first, second, last] = paragraphsOf(storyOfTexts(['One.\n\nTwo.\nThree.']));
    expect([first?.gap, second?.gap, last?.gap]).toEqual([true, false, false]);
  });

  test('without a word is one empty paragraph for each passage at most', () => {
    expect(shown([])).toEqual([]);
    expect(shown([''])).toEqual(['']);
    expect(shown(['\n\n'])).toEqual(['']);
  });

  test('gives the same paragraphs again for what has not changed', () => {
    const story = storyOfTexts(['One.\n\n', 'Two.\n\n', 'Three.']);
    const before = paragraphsOf(story);
    const after = paragraphsOf(editPart(story, 'b', 0, 3, 'Zwei'));
    expect(after.map((paragraph, index) => paragraph === before[index])).toEqual([true, false, true]);
    expect(paragraphsOf(story).every((paragraph, index) => paragraph === before[index])).toBe(true);
  });

  test('has paragraphs with keys of their own', () => {
    const keys = paragraphsOf(storyOfTexts(['a\nb\nc', 'd\n\ne'])).map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  });
});

describe('turns', () => {
  test('stay by themselves, and their first and last paragraphs are known', () => {
    const turns = paragraphsOf(storyOfTexts(['Hello.', 'me:Yes?\n\nGo on.'], { mode: 'chat' }));
    expect(turns.map(({ opens, closes, by }) => [opens, closes, by])).toEqual([
      [true, true, 'model'],
      [true, false, 'person'],
      [false, true, 'person'],
    ]);
  });

  test('are the same objects as long as their passages are', () => {
    const story = storyOfTexts(['One.', 'Two.'], { mode: 'instruct' });
    expect(paragraphsOf(story)[0]).toBe(paragraphsOf(editPart(story, 'b', 0, 1, 't'))[0]);
  });
});

test('pieces say where they stand, and with their breaks they are the whole passage', () => {
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

describe('a long story in chunks', () => {
  const passages = split(`${'A sentence of a story. '.repeat(20).trim()}\n\n`.repeat(400), 'model', counting());
  const story = storyOfTexts([], { passages });
  const chunks = chunksOf(paragraphsOf(story));

  test('is the same story, and none of them is very long', () => {
    expect(chunks.flatMap(({ paragraphs }) => paragraphs)).toEqual(paragraphsOf(story));
    const lengths = chunks.map(({ paragraphs }) =>
      paragraphs.flatMap(({ pieces }) => pieces).reduce((sum, { text }) => sum + text.length, 0),
    );
    expect(Math.max(...lengths)).toBeLessThan(12_000 + 2 * 4000);
    expect(new Set(chunks.map(({ key }) => key)).size).toBe(chunks.length);
  });

  test('changes in one chunk when something in it is edited', () => {
    expect(chunksOf(paragraphsOf(story)).every((chunk, index) => chunk === chunks[index])).toBe(true);
    const middle = passages[Math.floor(passages.length / 2)]?.id ?? '';
    const after = chunksOf(paragraphsOf(editPart(story, middle, 5, 5, 'x\n\ny')));
    expect(after.filter((chunk) => !chunks.includes(chunk))).toHaveLength(1);
  });

  test('of nothing are none', () => {
    expect(chunksOf([])).toEqual([]);
  });
});

test('piecesOf: marks the reasoning of the model', () => {
  const pieces = piecesOf(newPassage('a', 'model', '<think>Hm.\n\nSo.</think>\n\nYes.'));
  expect(pieces.map(({ thought }) => thought)).toEqual([true, true, false]);
  expect(piecesOf(newPassage('a', 'person', '<think>x')).map(({ thought }) => thought)).toEqual([false]);
});
