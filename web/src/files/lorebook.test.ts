import { describe, expect, test } from 'vitest';
import { counting } from '../story/testing/stories.ts';
import { isLorebook, lorebookFile, lorebookOf } from './lorebook.ts';

const sillyTavern = {
  entries: {
    0: {
      uid: 0,
      key: ['lamp', '/oil(ed)?/i'],
      keysecondary: ['wick'],
      comment: 'Lamp',
      content: 'It smokes.',
      constant: false,
      selective: true,
      selectiveLogic: 3,
      order: 50,
      position: 4,
      disable: false,
      probability: 30,
      useProbability: true,
      depth: 2,
      role: 1,
      caseSensitive: true,
      matchWholeWords: null,
      scanDepth: 8,
      excludeRecursion: true,
      preventRecursion: false,
      vectorized: false,
    },
    1: { key: 'sea, shore', content: 'Cold.', disable: true, position: 1, probability: 10, useProbability: false },
  },
};

describe('lorebookOf', () => {
  test('reads a SillyTavern lorebook', () => {
    const { world } = lorebookOf(sillyTavern, counting());
    expect(world).toMatchObject([
      {
        keys: ['lamp', '/oil(ed)?/i'],
        secondaryKeys: ['wick'],
        comment: 'Lamp',
        selective: true,
        secondaryLogic: 'all',
        order: 50,
        position: 'depth',
        depth: 2,
        role: 'user',
        chance: 30,
        caseSensitive: true,
        scanDepth: 8,
        notRecursive: true,
        enabled: true,
        foreign: { uid: 0, vectorized: false },
      },
      { keys: ['sea', 'shore'], content: 'Cold.', enabled: false, position: 'after', chance: 100 },
    ]);
    expect(world[0]).not.toHaveProperty('wholeWords');
  });

  test('reads version 3 with its options and writes it again', () => {
    const file = {
      spec: 'lorebook_v3',
      data: {
        name: 'Coast',
        description: 'About it',
        scan_depth: 3,
        token_budget: 400,
        recursive_scanning: true,
        extensions: { other: 1 },
        entries: [
          {
            keys: ['a'],
            content: '@@depth 2\nA.',
            enabled: true,
            insertion_order: 7,
            use_regex: true,
            position: 'after_char',
            priority: 3,
            extensions: { theirs: true },
          },
        ],
      },
    };
    const book = lorebookOf(file, counting());
    expect(book.options).toMatchObject({ name: 'Coast', scanDepth: 3, budget: 400, recursive: true });
    expect(book.world[0]).toMatchObject({ content: '@@depth 2\nA.', order: 7, regex: true, position: 'after' });
    const written = lorebookFile(book);
    expect(written).toMatchObject({
      spec: 'lorebook_v3',
      data: {
        name: 'Coast',
        token_budget: 400,
        extensions: { other: 1 },
        entries: [{ keys: ['a'], priority: 3, use_regex: true, extensions: { theirs: true, position: 1 } }],
      },
    });
    expect(lorebookOf(written, counting()).world[0]).toMatchObject({ position: 'after', order: 7, chance: 100 });
  });

  test.each([
    ['NovelAI', { lorebookVersion: 5, entries: [{ text: 'T.', keys: ['k'], displayName: 'D', searchRange: 1000 }] }],
    ['Agnai', { kind: 'memory', entries: [{ entry: 'T.', keywords: ['k'], name: 'D' }] }],
  ])('reads %s', (_, file) => {
    expect(isLorebook(file)).toBe(true);
    expect(lorebookOf(file, counting()).world).toMatchObject([{ keys: ['k'], content: 'T.', comment: 'D' }]);
  });
});

test.each([
  [{ entries: {} }, false],
  [{ entries: [{ a: 1 }] }, false],
  [{ spec: 'lorebook_v3', data: { entries: [] } }, true],
  [{ first_mes: '', entries: [{ content: '' }] }, false],
  [null, false],
])('isLorebook: %j is %s', (value, expected) => {
  expect(isLorebook(value)).toBe(expected);
});
