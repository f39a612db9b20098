import { expect, test } from 'vitest';
import { storyOfTexts } from './testing/stories.ts';
import { wordsOf } from './words.ts';

test.each([
  [[], 0],
  [['One, two.', 'me: three '], 3],
  [["Don't — it’s well-known."], 3],
  [['Grüße aus 1984\n\n…'], 3],
])('%j has %i words', (texts, expected) => {
  expect(wordsOf(storyOfTexts(texts))).toBe(expected);
  expect(wordsOf(storyOfTexts(texts))).toBe(expected);
});
