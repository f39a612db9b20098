import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addBranch,
  append,
  chooseBranch,
  editPart,
  partBefore,
  removeBranch,
  removePassage,
  replacePassage,
  split,
  withText,
} from './passages.ts';
import { newPassage, type Story, textOf } from './story.ts';
import { counting, storyOfTexts } from './testing/stories.ts';

const texts = ({ passages }: Story): string[] => passages.map(textOf);

describe('editPart', () => {
  const story = storyOfTexts(['One two three.', 'Four.']);

  test('returns a changed story and leaves the old one unchanged', () => {
    expect(texts(editPart(story, 'a', 4, 7, 'zwei'))).toEqual(['One zwei three.', 'Four.']);
    expect(texts(story)).toEqual(['One two three.', 'Four.']);
  });

  test('returns the same story for no change or an unknown passage', () => {
    expect(editPart(story, 'a', 0, 3, 'One')).toBe(story);
    expect(editPart(story, 'z', 0, 3, 'x')).toBe(story);
    expect(replacePassage(story, 'z', (passage) => withText(passage, 'x'))).toBe(story);
    expect(replacePassage(story, 'a', (passage) => passage)).toBe(story);
  });

  test('removes an empty passage, unless it has other branches', () => {
    expect(texts(editPart(story, 'b', 0, 5, ''))).toEqual(['One two three.']);
    const branched = editPart(addBranch(story, 'b', 'Five.'), 'b', 0, 5, '');
    expect(texts(branched)).toEqual(['One two three.', '']);
    expect(texts(chooseBranch(branched, 'b', 0))).toEqual(['One two three.', 'Four.']);
  });

  test('removes the token probabilities', () => {
    const choices = [{ text: 'Four.', probability: 1, others: [] }];
    const told = replacePassage(story, 'b', (passage) => withText(passage, 'Four.', choices));
    expect(told.passages[1]?.branches[0]?.choices).toBe(choices);
    expect(editPart(told, 'b', 0, 4, 'Five').passages[1]?.branches[0]).toEqual({ text: 'Five.' });
  });

  test('keeps other passages as the same objects', () => {
    expect(editPart(story, 'b', 0, 1, 'f').passages[0]).toBe(story.passages[0]);
  });
});

describe('partBefore', () => {
  const story = storyOfTexts(['One.\n\n', 'Two.\nThree.']);
  test.each([
    ['b', 5, { passage: 'b', end: 5 }],
    ['b', 0, { passage: 'a', end: 6 }],
    ['a', 0, undefined],
  ])('%s at %i is %j', (id, start, expected) => {
    expect(partBefore(story, id, start)).toEqual(expected);
  });
});

describe('branches', () => {
  const story = storyOfTexts(['Begin.', 'First.', 'After first.']);

  test('addBranch stores the following passages with the old branch', () => {
    const branched = addBranch(story, 'b', 'Second.');
    expect(texts(branched)).toEqual(['Begin.', 'Second.']);
    const grown = append(branched, newPassage('n', 'model', 'After second.'));
    const back = chooseBranch(grown, 'b', 0);
    expect(texts(back)).toEqual(['Begin.', 'First.', 'After first.']);
    expect(texts(chooseBranch(back, 'b', 1))).toEqual(['Begin.', 'Second.', 'After second.']);
  });

  test('chooseBranch ignores an unknown branch', () => {
    expect(chooseBranch(story, 'b', 3)).toBe(story);
    expect(chooseBranch(story, 'b', 0)).toBe(story);
    expect(chooseBranch(story, 'z', 1)).toBe(story);
    expect(addBranch(story, 'z', 'x')).toBe(story);
  });

  test('removeBranch shows another branch with its following passages', () => {
    const two = addBranch(story, 'b', 'Second.');
    expect(texts(removeBranch(two, 'b'))).toEqual(['Begin.', 'First.', 'After first.']);
    expect(removeBranch(two, 'b').passages[1]).toMatchObject({ branches: [{ text: 'First.' }], shown: 0 });
    const first = removeBranch(chooseBranch(two, 'b', 0), 'b');
    expect(texts(first)).toEqual(['Begin.', 'Second.']);
    expect(first.passages[1]?.shown).toBe(0);
  });

  test('removeBranch removes a passage with only one branch', () => {
    expect(texts(removeBranch(story, 'b'))).toEqual(['Begin.', 'After first.']);
    expect(texts(removePassage(story, 'a'))).toEqual(['First.', 'After first.']);
    expect(removeBranch(story, 'z')).toBe(story);
  });

  test('chooseBranch loses nothing in any order', () => {
    const whole = addBranch(addBranch(addBranch(story, 'b', 'Second.'), 'a', 'Other.'), 'a', 'Third.');
    const moves = fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.nat(2)), { maxLength: 12 });
    fc.assert(
      fc.property(moves, (chosen) => {
        let now = whole;
        for (const [id, index] of chosen) now = chooseBranch(now, id, index);
        now = chooseBranch(chooseBranch(now, 'a', 0), 'b', 0);
        expect(texts(now)).toEqual(['Begin.', 'First.', 'After first.']);
        expect(texts(chooseBranch(now, 'b', 1))).toEqual(['Begin.', 'Second.']);
      }),
    );
  });
});

describe('split', () => {
  test('ends passages at paragraph ends', () => {
    const paragraph = `${'word '.repeat(500).trim()}\n\n`;
    const passages = split(paragraph.repeat(4), 'person', counting());
    expect(passages.map((passage) => textOf(passage).length)).toEqual(Array(4).fill(paragraph.length));
    expect(passages.every(({ by }) => by === 'person')).toBe(true);
    expect(passages.map(({ id }) => id)).toEqual(['1', '2', '3', '4']);
  });

  test('keeps a single paragraph whole', () => {
    expect(split('a'.repeat(9000), 'model', counting())).toHaveLength(1);
    expect(split('', 'model', counting())).toEqual([]);
  });

  test('loses nothing of any text', () => {
    const word = fc.constantFrom('a', 'word', '\n', '\n\n', ' ', 'x'.repeat(3000));
    fc.assert(
      fc.property(fc.array(word, { maxLength: 40 }), (words) => {
        const text = words.join('');
        expect(split(text, 'model', counting()).map(textOf).join('')).toBe(text);
      }),
    );
  });
});
