import { describe, expect, test } from 'vitest';
import { isSameText, merged } from './merge.ts';
import { addBranch } from './passages.ts';
import { newEntry, textOf } from './story.ts';
import { storyOfTexts } from './testing/stories.ts';

const mine = { ...storyOfTexts(['One.', 'me:Two.']), id: 'mine', prefill: 'Well', changed: 3 };
const theirs = (texts: readonly string[]) => ({
  ...storyOfTexts(texts, { memory: 'm', title: 'T' }),
  id: 'theirs',
  changed: 9,
});

describe('a story that somebody else has sent', () => {
  test('takes the place of ours, under our id, with their words', () => {
    const both = merged(mine, theirs(['One.', 'me:Zwei.', 'Three.']));
    expect(both).toMatchObject({ id: 'mine', changed: 3, prefill: 'Well', memory: 'm', title: 'T' });
    expect(both.passages.map(textOf)).toEqual(['One.', 'Zwei.', 'Three.']);
  });

  test('leaves passages that are the same as they are', () => {
    const both = merged(mine, theirs(['One.', 'me:Zwei.']));
    expect(both.passages[0]).toBe(mine.passages[0]);
    expect(both.passages[1]).not.toBe(mine.passages[1]);
  });

  test('may be shorter', () => {
    expect(merged(mine, theirs(['One.'])).passages).toHaveLength(1);
  });

  test('does not take a reply away that is on its way', () => {
    const pending = { key: 'k', passage: 'b', begin: '', stops: [] };
    expect(merged({ ...mine, pending }, theirs(['One.'])).pending).toBe(pending);
    expect('pending' in merged(mine, theirs(['One.']))).toBe(false);
  });
});

describe('two states', () => {
  test.each([
    ['the same words', {}, true],
    ['another memory', { memory: 'x' }, false],
    ['another title', { title: 'x' }, false],
    ['another entry', { world: [newEntry({ id: '1', content: 'x' })] }, false],
    ['only another beginning of the reply', { prefill: 'x' }, true],
    ['only another moment', { changed: 99 }, true],
  ])('with %s', (_, fields, expected) => {
    const story = storyOfTexts(['One.', 'me:Two.']);
    expect(isSameText(story, { ...storyOfTexts(['One.', 'me:Two.']), ...fields })).toBe(expected);
  });

  test('differ in a passage, its branches or who wrote it', () => {
    const story = storyOfTexts(['One.', 'Two.']);
    expect(isSameText(story, storyOfTexts(['One.', 'me:Two.']))).toBe(false);
    expect(isSameText(story, storyOfTexts(['One.']))).toBe(false);
    expect(isSameText(story, addBranch(story, 'b', 'Zwei.'))).toBe(false);
  });

  test('of entries with other ids are the same', () => {
    const world = (id: string) => [newEntry({ id, keys: ['k'], content: 'c' })];
    expect(isSameText(storyOfTexts([], { world: world('1') }), storyOfTexts([], { world: world('2') }))).toBe(true);
  });
});
