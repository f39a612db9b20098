import { describe, expect, test } from 'vitest';
import { newEntry, type WorldEntry } from './story.ts';
import { keysOf, matching } from './world-info.ts';

const entry = (fields: Partial<WorldEntry>): WorldEntry => newEntry({ id: 'e', content: 'Known.', ...fields });
const found = (fields: Partial<WorldEntry>, text: string): boolean => matching([entry(fields)], text).length === 1;

describe('matching', () => {
  test.each([
    ['a key anywhere, in capitals or not', { keys: ['Edda'] }, 'My EDDA was here', true],
    ['a key inside of a word', { keys: ['light'] }, 'the lighthouse', true],
    ['none of its keys', { keys: ['Edda', 'sister'] }, 'Maren slept', false],
    ['an empty key', { keys: ['', ' '] }, 'anything', false],
    ['spaces around a key', { keys: [' lamp '] }, 'a lamp.', true],
    ['no key but always there', { constant: true }, '', true],
    ['a key, but switched off', { keys: ['lamp'], enabled: false }, 'a lamp', false],
    ['always there, but switched off', { constant: true, enabled: false }, '', false],
    ['a key and no secondary one', { keys: ['lamp'], selective: true, secondaryKeys: ['oil'] }, 'a lamp', false],
    ['both keys', { keys: ['lamp'], selective: true, secondaryKeys: ['wick', 'oil'] }, 'oil for a lamp', true],
    ['only the secondary key', { keys: ['lamp'], selective: true, secondaryKeys: ['oil'] }, 'oil', false],
    ['secondary keys that do not count', { keys: ['lamp'], secondaryKeys: ['oil'] }, 'a lamp', true],
    ['selective without any secondary key', { keys: ['lamp'], selective: true }, 'a lamp', true],
    ['a word that keeps it out', { keys: ['lamp'], excludedBy: ['dream'] }, 'a lamp in a Dream', false],
    ['a word that keeps even what is always there out', { constant: true, excludedBy: ['dream'] }, 'dream', false],
    ['a key but nothing to tell', { keys: ['lamp'], content: '  ' }, 'a lamp', false],
  ] as [string, Partial<WorldEntry>, string, boolean][])('with %s', (_, fields, text, expected) => {
    expect(found(fields, text)).toBe(expected);
  });
});

test('matching: sorts by order, and keeps the list order within one', () => {
  const world = [
    entry({ id: '1', order: 200, constant: true }),
    entry({ id: '2', order: 100, constant: true }),
    entry({ id: '3', order: 100, constant: true }),
  ];
  expect(matching(world, '').map(({ id }) => id)).toEqual(['2', '3', '1']);
  expect(matching([], 'text')).toEqual([]);
});

test('matching: includes an entry by its probability', () => {
  const world = [entry({ constant: true, chance: 40 })];
  expect(matching(world, '', () => 0.39)).toHaveLength(1);
  expect(matching(world, '', () => 0.41)).toEqual([]);
  expect(matching(world, '')).toHaveLength(1);
  expect(matching([entry({ constant: true, chance: 0 })], '', () => 0)).toEqual([]);
});

test('keysOf: splits at commas', () => {
  expect(keysOf(' Edda, the sister ,, ')).toEqual(['Edda', 'the sister']);
  expect(keysOf('')).toEqual([]);
});
