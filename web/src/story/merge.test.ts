import { describe, expect, test } from 'vitest';
import { isSameText, merged, mergedStories, storyShape } from './merge.ts';
import { addBranch, append, chooseBranch, editPart, removePassage, replacePassage, withText } from './passages.ts';
import { newEntry, newPassage, type Story, textOf } from './story.ts';
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

describe('mergedStories', () => {
  const base = storyOfTexts(['One.', 'Two.', 'Three.']);
  const edit = (story: Story, id: string, text: string) => replacePassage(story, id, (old) => withText(old, text));
  const texts = (story: Story) => story.passages.map(textOf);

  test('keeps edits of different passages and fields', () => {
    const mine = { ...edit(base, 'a', 'Uno.'), memory: 'Winter' };
    const theirs = { ...edit(base, 'c', 'Tre.'), title: 'Fox', world: [newEntry({ id: 'w', content: 'x' })] };
    const both = mergedStories(base, mine, theirs);
    expect(texts(both)).toEqual(['Uno.', 'Two.', 'Tre.']);
    expect(both).toMatchObject({ memory: 'Winter', title: 'Fox', world: [{ id: 'w' }] });
    expect(both.passages[1]).toBe(mine.passages[1]);
  });

  test('keeps text that both sides have added, the stored text first', () => {
    const both = mergedStories(
      base,
      append(base, newPassage('m', 'person', 'Mine.')),
      append(base, newPassage('t', 'person', 'Theirs.')),
    );
    expect(texts(both)).toEqual(['One.', 'Two.', 'Three.', 'Theirs.', 'Mine.']);
  });

  test('an edit reaches a passage that the other side has moved to another branch', () => {
    const mine = addBranch(base, 'b', 'Zwei.');
    const both = mergedStories(base, mine, edit(base, 'c', 'Tre.'));
    expect(texts(both)).toEqual(['One.', 'Zwei.']);
    expect(texts(chooseBranch(both, 'b', 0))).toEqual(['One.', 'Two.', 'Tre.']);
  });

  test('keeps the branches of both sides and shows mine', () => {
    const both = mergedStories(base, addBranch(base, 'c', 'Mine.'), addBranch(base, 'c', 'Theirs.'));
    expect(both.passages[2]?.branches.map(({ text }) => text)).toEqual(['Three.', 'Theirs.', 'Mine.']);
    expect(texts(both)[2]).toBe('Mine.');
  });

  test('a changed passage wins over its deletion, at its place', () => {
    for (const [mine, theirs] of [
      [removePassage(base, 'b'), edit(base, 'b', 'Zwei.')],
      [edit(base, 'b', 'Zwei.'), removePassage(base, 'b')],
    ] as const)
      expect(texts(mergedStories(base, mine, theirs))).toEqual(['One.', 'Zwei.', 'Three.']);
    expect(texts(mergedStories(base, removePassage(base, 'b'), edit(base, 'a', 'Uno.')))).toEqual(['Uno.', 'Three.']);
  });

  test('two edits of one passage are both kept if they do not overlap', () => {
    const long = storyOfTexts(['First line.\nSecond line.']);
    const both = mergedStories(long, editPart(long, 'a', 0, 5, 'Last'), editPart(long, 'a', 12, 18, 'Other'));
    expect(texts(both)).toEqual(['Last line.\nOther line.']);
  });

  test('without a base keeps the passages of both', () => {
    const both = mergedStories(undefined, base, append(base, newPassage('t', 'person', 'Theirs.')));
    expect(texts(both)).toEqual(['One.', 'Two.', 'Three.', 'Theirs.']);
  });

  test('storyShape: joins what it has split', () => {
    const branched = addBranch(base, 'b', 'Zwei.');
    expect(storyShape.join(storyShape.split(branched))).toEqual(branched);
  });
});
