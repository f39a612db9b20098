import { expect, test } from 'vitest';
import { addBranch, append, chooseBranch } from '../story/passages.ts';
import { newEntry, newPassage, type Story, textOf } from '../story/story.ts';
import { counting, storyOfTexts } from '../story/testing/stories.ts';
import { fileOfStory, isOwn, storyOfFile } from './own-story.ts';

const read = (value: unknown): Story => storyOfFile(value, counting(), 9);
const throughFile = (story: Story): Story => read(JSON.parse(JSON.stringify(fileOfStory(story))));

test('storyOfFile: restores all branches and settings', () => {
  const fields = {
    mode: 'chat' as const,
    title: 'T',
    memory: 'm',
    note: { text: 'n', template: '<|>', depth: 7 },
    worldDepth: 12,
    me: 'A',
    them: 'B',
    oneLine: false,
    stops: ['x'],
    prefill: 'p',
    world: [
      newEntry({
        id: 'w',
        keys: ['k'],
        secondaryKeys: ['s'],
        excludedBy: ['e'],
        content: 'c',
        order: 3,
        selective: true,
        caseSensitive: true,
        wholeWords: false,
        regex: true,
        secondaryLogic: 'not-all',
        position: 'depth',
        depth: 0,
        role: 'user',
        scanDepth: 3,
        notRecursive: true,
        stopsRecursion: true,
        foreign: { vectorized: false },
      }),
    ],
    foreign: { a: [1] },
  };
  const story = append(
    addBranch(storyOfTexts(['One.', 'me:Two.', 'Three.'], fields), 'b', 'Zwei.'),
    newPassage('n', 'model', 'Drei.'),
  );
  const again = throughFile(story);
  expect(again).toMatchObject({ ...fields, world: [{ ...fields.world[0], id: expect.any(String) }], changed: 9 });
  expect(again.passages.map(textOf)).toEqual(['One.', 'Zwei.', 'Drei.']);
  const second = again.passages[1]?.id ?? '';
  expect(chooseBranch(again, second, 0).passages.map((passage) => [passage.by, textOf(passage)])).toEqual([
    ['model', 'One.'],
    ['person', 'Two.'],
    ['model', 'Three.'],
  ]);
});

test('fileOfStory: leaves out the running reply', () => {
  const story = { ...storyOfTexts(['x']), pending: { key: 'k', passage: 'a', begin: '', stops: [] } };
  expect(JSON.stringify(fileOfStory(story))).not.toContain('pending');
});

test('storyOfFile: creates new ids', () => {
  const story = throughFile(storyOfTexts(['One.', 'Two.']));
  const ids = [story.id, ...story.passages.map(({ id }) => id)];
  expect(new Set(ids).size).toBe(3);
  expect(ids).not.toContain('a');
});

test.each([
  {},
  { story: 5 },
  {
    story: {
      mode: 'opera',
      passages: [{ branches: 'x', shown: 9 }, null],
      world: [7, { position: 'nowhere', role: 1, depth: 'deep', scanDepth: -1, regex: 'yes', foreign: [] }],
      stops: [1],
      note: { depth: 'far' },
    },
  },
])('a file with anything in it (%j) is at worst a poor story', (value) => {
  const story = read({ parley: 'story', ...value });
  expect(story.mode).toBe('story');
  expect(story.note.depth).toBe(320);
  for (const entry of story.world) expect(entry).toEqual(newEntry({ id: entry.id }));
  for (const { branches, shown } of story.passages) expect(branches[shown]).toBeDefined();
});

test('storyOfFile: limits the nesting of branches', () => {
  let passages: unknown = [];
  for (let depth = 0; depth < 1000; depth += 1) passages = [{ branches: [{ text: 'x', after: passages }] }];
  expect(read({ story: { passages } }).passages).toHaveLength(1);
});

test('isOwn: detects the format name', () => {
  expect(isOwn(fileOfStory(storyOfTexts([])))).toBe(true);
  expect(isOwn({ story: {} })).toBe(false);
});
