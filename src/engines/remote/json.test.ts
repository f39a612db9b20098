import { anything, assert, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { entries, inside, numberIn, textIn, textsIn } from './json.ts';

test('values of the kind that is looked for are found', () => {
  const said = { text: 'a', number: 2, list: ['b', 3, 'c'], deep: { er: [{ x: 1 }] } };
  expect([textIn(said, 'text'), numberIn(said, 'number')]).toEqual(['a', 2]);
  expect(textsIn(said, 'list')).toEqual(['b', 'c']);
  expect(inside(said, 'deep', 'er', 0, 'x')).toBe(1);
});

test('values of another kind are none', () => {
  const said = { text: 5, number: '2', list: 'abc', endless: Number.POSITIVE_INFINITY };
  expect([textIn(said, 'text'), numberIn(said, 'number'), numberIn(said, 'endless')]).toEqual(Array(3).fill(undefined));
  expect([textsIn(said, 'list'), entries({ length: 1 })]).toEqual([[], []]);
});

test('whatever another server says, looking into it throws nothing', () => {
  assert(
    property(anything(), string(), (said, key) => {
      const found = [textIn(said, key), numberIn(said, key), textsIn(said, key), entries(said), inside(said, key, key)];
      expect(found).toHaveLength(5);
    }),
  );
});
