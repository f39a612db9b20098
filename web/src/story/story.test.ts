import { describe, expect, test } from 'vitest';
import { buildPrompt } from './prompt.ts';
import { scenarios } from './scenarios.ts';
import { modes, newPassage, textOf, titleOf, wordsOf } from './story.ts';
import { counting, storyOfTexts } from './testing/stories.ts';

describe('titleOf', () => {
  test.each([
    [{ title: 'Mine' }, ['Text'], 'Mine'],
    [{}, ['  ', '\n Once upon\na time'], 'Once upon'],
    [{ title: ' ' }, [`${'word '.repeat(30)}`], `${'word '.repeat(12).slice(0, 59).trim()}…`],
    [{}, [], 'Untitled'],
  ])('%j with %j', (fields, texts, expected) => {
    expect(titleOf(storyOfTexts(texts, fields))).toBe(expected);
  });
});

test('textOf: is empty if the shown branch does not exist', () => {
  expect(textOf({ ...newPassage('a', 'model', 'x'), shown: 4 })).toBe('');
});

describe('scenarios', () => {
  test('cover each mode', () => {
    expect(scenarios.map(({ make }) => make(counting(), 0).mode)).toEqual([...modes]);
  });

  test.each(scenarios)('$title opens with something to read, ids of its own and a prompt', ({ make, title }) => {
    const story = make(counting(), 7);
    expect(story).toMatchObject({ title, changed: 7 });
    const ids = [story.id, ...story.passages.map(({ id }) => id), ...story.world.map(({ id }) => id)];
    expect(new Set(ids).size).toBe(ids.length);
    const { prompt, memory } = buildPrompt(story, { tokens: 2000, charactersPerToken: 4 });
    expect(prompt.length).toBeGreaterThan(80);
    expect(memory.length).toBeGreaterThan(80);
  });
});

test.each([
  [[], 0],
  [['One, two.', 'me: three '], 3],
  [["Don't — it’s well-known."], 3],
  [['Grüße aus 1984\n\n…'], 3],
])('wordsOf: %j has %i words', (texts, expected) => {
  expect(wordsOf(storyOfTexts(texts))).toBe(expected);
  expect(wordsOf(storyOfTexts(texts))).toBe(expected);
});
