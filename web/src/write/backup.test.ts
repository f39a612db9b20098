import { expect, test } from 'vitest';
import { storyOfTexts } from '../story/testing/stories.ts';
import { newest } from './backup.ts';

const at = (id: string, changed: number) => ({ ...storyOfTexts([`${changed}`]), id, changed });

test('newest: returns the newest state of each story', () => {
  const found = newest([at('a', 1), at('b', 5)], [at('a', 2), at('b', 4), at('c', 1)]);
  expect(found.map(({ id, changed }) => [id, changed])).toEqual([
    ['a', 2],
    ['b', 5],
    ['c', 1],
  ]);
});

test('newest: prefers the first of two equal states', () => {
  const [first, second] = [at('a', 1), at('a', 1)];
  expect(newest([first], [second])[0]).toBe(first);
  expect(newest([], [])).toEqual([]);
});
