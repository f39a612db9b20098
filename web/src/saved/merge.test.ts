import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isSame, merge, withSharedParts } from './merge.ts';

describe('merge', () => {
  test.each([
    ['only mine changed', { a: 1, b: 1 }, { a: 2, b: 1 }, { a: 1, b: 1 }, { a: 2, b: 1 }],
    ['different fields', { a: 1, b: 1 }, { a: 2, b: 1 }, { a: 1, b: 3 }, { a: 2, b: 3 }],
    ['the same field: mine', { a: 1 }, { a: 2 }, { a: 3 }, { a: 2 }],
    ['a removed field', { a: 1, b: 1 }, { b: 1 }, { a: 1, b: 2 }, { b: 2 }],
    [
      'nested fields',
      { t: { x: { v: 1 } } },
      { t: { x: { v: 1 }, y: {} } },
      { t: { x: { v: 2 } } },
      { t: { x: { v: 2 }, y: {} } },
    ],
    [
      'deleted by me, changed by them',
      { t: { x: { id: 'x', v: 1 } } },
      { t: {} },
      { t: { x: { id: 'x', v: 2 } } },
      { t: { x: { id: 'x', v: 2 } } },
    ],
    [
      'deleted by them, changed by me',
      { t: { x: { id: 'x', v: 1 } } },
      { t: { x: { id: 'x', v: 2 } } },
      { t: {} },
      { t: { x: { id: 'x', v: 2 } } },
    ],
    ['appended by both', ['a'], ['a', 'm'], ['a', 't'], ['a', 't', 'm']],
    ['added at different places', ['a', 'b'], ['m', 'a', 'b'], ['a', 'b', 't'], ['m', 'a', 'b', 't']],
    ['removed and added', ['a', 'b'], ['b'], ['a', 'b', 't'], ['b', 't']],
    ['reordered and added', ['a', 'b', 'c'], ['c', 'a', 'b'], ['a', 'b', 'c', 't'], ['c', 't', 'a', 'b']],
    [
      'items by id',
      [
        { id: 'a', v: 1 },
        { id: 'b', v: 1 },
      ],
      [
        { id: 'a', v: 2 },
        { id: 'b', v: 1 },
      ],
      [
        { id: 'a', v: 1 },
        { id: 'b', v: 3 },
      ],
      [
        { id: 'a', v: 2 },
        { id: 'b', v: 3 },
      ],
    ],
    ['lists without keys: mine', [1, 2], [1, 2, 3], [0, 1, 2], [1, 2, 3]],
    [
      'two ranges of a text',
      { text: 'One. Two. Three.' },
      { text: 'Uno. Two. Three.' },
      { text: 'One. Two. Tre.' },
      { text: 'Uno. Two. Tre.' },
    ],
    ['the same range of a text: mine', { text: 'One.' }, { text: 'Uno.' }, { text: 'Eins.' }, { text: 'Uno.' }],
    ['other strings are not mixed', { mode: 'abcdef' }, { mode: 'xbcdef' }, { mode: 'abcdey' }, { mode: 'xbcdef' }],
  ])('%s', (_, base, mine, theirs, expected) => {
    expect(merge<unknown>(base, mine, theirs)).toEqual(expected);
  });

  test('without a base keeps what either side has', () => {
    const mine = { name: 'mine', turns: { a: { id: 'a', text: 'x' } } };
    const theirs = { name: 'theirs', turns: { b: { id: 'b', text: 'y' } }, folder: 'F' };
    expect(merge<unknown>(undefined, mine, theirs)).toEqual({
      name: 'mine',
      folder: 'F',
      turns: { a: { id: 'a', text: 'x' }, b: { id: 'b', text: 'y' } },
    });
  });

  test('keeps equal objects of mine', () => {
    const mine = { t: { a: { id: 'a' }, b: { id: 'b', v: 2 } } };
    const result = merge<unknown>({ t: { a: { id: 'a' } } }, mine, { t: { a: { id: 'a' } }, n: 1 }) as typeof mine;
    expect(result.t).toBe(mine.t);
  });

  const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom('x', 'y', 1, 2),
      fc.dictionary(fc.constantFrom('a', 'b', 'text'), tie('value'), { maxKeys: 3 }),
      fc.uniqueArray(fc.constantFrom('p', 'q', 'r', 's')),
    ),
  })).value;

  test('one side without changes: the other side', () => {
    fc.assert(
      fc.property(value, value, (base, changed) => {
        expect(isSame(merge(base, changed, base), changed)).toBe(true);
        expect(isSame(merge(base, base, changed), changed)).toBe(true);
      }),
    );
  });

  test('merging twice changes nothing', () => {
    fc.assert(
      fc.property(value, value, value, (base, mine, theirs) => {
        const both = merge(base, mine, theirs);
        expect(isSame(merge(theirs, both, both), both)).toBe(true);
        expect(isSame(merge(both, both, both), both)).toBe(true);
      }),
    );
  });
});

test('isSame: compares data deeply; a missing field equals undefined', () => {
  expect(isSame({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] })).toBe(true);
  expect(isSame({ a: undefined }, {})).toBe(true);
  expect(isSame({}, { a: 1 })).toBe(false);
  expect(isSame([1], { 0: 1 })).toBe(false);
  expect(isSame(new Blob(['a']), new Blob(['b']))).toBe(true);
  expect(isSame(new Blob(['a']), new Blob(['ab']))).toBe(false);
});

test('withSharedParts: keeps equal objects of the old value', () => {
  const old = { turns: { a: { id: 'a', v: 1 }, b: { id: 'b', v: 1 } }, list: [{ id: 'x' }, { id: 'y' }] };
  const next = structuredClone({
    ...old,
    turns: { ...old.turns, b: { id: 'b', v: 2 } },
    list: [{ id: 'n' }, { id: 'y' }],
  });
  const shared = withSharedParts(old, next) as typeof old;
  expect(shared).toEqual(next);
  expect(shared.turns.a).toBe(old.turns.a);
  expect(shared.turns.b).not.toBe(old.turns.b);
  expect(shared.list[1]).toBe(old.list[1]);
});
