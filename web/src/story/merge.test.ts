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

describe('merged', () => {
  test('takes the text of the other story under the local id', () => {
    const both = merged(mine, theirs(['One.', 'me:Zwei.', 'Three.']));
    expect(both).toMatchObject({ id: 'mine', changed: 3, prefill: 'Well', memory: 'm', title: 'T' });
    expect(both.passages.map(textOf)).toEqual(['One.', 'Zwei.', 'Three.']);
  });

  test('keeps equal passages as the same objects', () => {
    const both = merged(mine, theirs(['One.', 'me:Zwei.']));
    expect(both.passages[0]).toBe(mine.passages[0]);
    expect(both.passages[1]).not.toBe(mine.passages[1]);
  });

  test('accepts a shorter story', () => {
    expect(merged(mine, theirs(['One.'])).passages).toHaveLength(1);
  });

  test('keeps the running reply', () => {
    const pending = { key: 'k', passage: 'b', begin: '', stops: [] };
    expect(merged({ ...mine, pending }, theirs(['One.'])).pending).toBe(pending);
    expect('pending' in merged(mine, theirs(['One.']))).toBe(false);
  });
});

describe('isSameText', () => {
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

  test('is false for different passages, branches or authors', () => {
    const story = storyOfTexts(['One.', 'Two.']);
    expect(isSameText(story, storyOfTexts(['One.', 'me:Two.']))).toBe(false);
    expect(isSameText(story, storyOfTexts(['One.']))).toBe(false);
    expect(isSameText(story, addBranch(story, 'b', 'Zwei.'))).toBe(false);
  });

  test('ignores the ids of world info entries', () => {
    const world = (id: string) => [newEntry({ id, keys: ['k'], content: 'c' })];
    expect(isSameText(storyOfTexts([], { world: world('1') }), storyOfTexts([], { world: world('2') }))).toBe(true);
  });
});
