import { describe, expect, test } from 'vitest';
import { newEntry, type WorldEntry } from './story.ts';
import { activeEntries, decorated, keysOf, matching, refusedKeys } from './world-info.ts';

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

test('keysOf: keeps the commas of an expression', () => {
  expect(keysOf('lamp, /a{1,3}\\/b/i , and/or, x')).toEqual(['lamp', '/a{1,3}\\/b/i', 'and/or', 'x']);
});

test('refusedKeys: names the expressions that are not searched', () => {
  const keys = ['lamp', '/(a+)+$/', '/(?<=a)b/', '/a/q'];
  expect(refusedKeys(entry({ keys, secondaryKeys: ['/l(mp/'] }))).toEqual([
    { key: '/(?<=a)b/', reason: 'the pattern uses a look-behind, which is not supported here' },
    { key: '/a/q', reason: 'the pattern has the flag q, which is not supported here' },
    { key: '/l(mp/', reason: 'the pattern has a group without an end' },
  ]);
  expect(refusedKeys(entry({ keys: ['C++'] }))).toEqual([]);
  expect(refusedKeys(entry({ keys: ['C++'], regex: true }))).toHaveLength(1);
});

describe('matching: options of an entry', () => {
  test.each([
    ['case sensitive', { keys: ['Edda'], caseSensitive: true }, 'edda', false],
    ['whole words', { keys: ['light'], wholeWords: true }, 'the lighthouse', false],
    ['whole words at the end', { keys: ['light'], wholeWords: true }, 'the light.', true],
    ['a regular expression', { keys: ['l.mp'], regex: true }, 'a Lump', true],
    ['a written expression', { keys: ['/l[ai]mp\\b/'] }, 'a limp.', true],
    ['a written expression in other case', { keys: ['/lamp/'] }, 'LAMP', false],
    ['a written expression with a flag', { keys: ['/^LAMP$/im'] }, 'a\nlamp\nb', true],
    ['an invalid expression', { keys: ['/l(mp/'] }, 'a /l(mp/', false],
    ['an expression with look-around', { keys: ['/(?=lamp)/'] }, 'lamp', false],
    ['an expression that would block a browser', { keys: ['/(a+)+$/'] }, `${'a'.repeat(20_000)}!`, false],
    ['all', { keys: ['a'], selective: true, secondaryKeys: ['b', 'c'], secondaryLogic: 'all' }, 'a b', false],
    ['not any', { keys: ['a'], selective: true, secondaryKeys: ['b'], secondaryLogic: 'not-any' }, 'a b', false],
    ['not all', { keys: ['a'], selective: true, secondaryKeys: ['b', 'c'], secondaryLogic: 'not-all' }, 'a b', true],
  ] as [string, Partial<WorldEntry>, string, boolean][])('%s', (_, fields, text, expected) => {
    expect(found(fields, text)).toBe(expected);
  });
});

describe('activeEntries', () => {
  const ids = (world: readonly WorldEntry[], parts: Parameters<typeof activeEntries>[1]): string[] =>
    activeEntries(world, parts).map(({ id }) => id);

  test('searches the last messages only, as deep as the entry or the lorebook says', () => {
    const world = [entry({ id: 'a', keys: ['fox'] }), entry({ id: 'b', keys: ['fox'], scanDepth: 3 })];
    const messages = ['a fox', 'x', 'y'];
    expect(ids(world, { messages })).toEqual(['a', 'b']);
    expect(ids(world, { messages, options: { scanDepth: 2 } })).toEqual(['b']);
  });

  test('finds entries in the content of others if the lorebook is recursive', () => {
    const world = [
      entry({ id: 'a', keys: ['fox'], content: 'The den.' }),
      entry({ id: 'b', keys: ['den'], content: 'A cave.' }),
      entry({ id: 'c', keys: ['cave'] }),
      entry({ id: 'd', keys: ['den'], notRecursive: true }),
    ];
    expect(ids(world, { messages: ['fox'] })).toEqual(['a']);
    expect(ids(world, { messages: ['fox'], options: { recursive: true } })).toEqual(['a', 'b', 'c']);
    const stopped = [{ ...(world[0] as WorldEntry), stopsRecursion: true }, ...world.slice(1)];
    expect(ids(stopped, { messages: ['fox'], options: { recursive: true } })).toEqual(['a']);
  });

  test('resolves macros in keys and contents', () => {
    const world = [entry({ keys: ['{{char}}'], content: '{{char}} sings.' })];
    const resolve = (text: string): string => text.replaceAll('{{char}}', 'Ada');
    expect(activeEntries(world, { messages: ['Ada?'], resolve })).toMatchObject([{ content: 'Ada sings.' }]);
  });
});

describe('decorated', () => {
  const of = (content: string, parts = {}): Partial<WorldEntry> => decorated(entry({ content }), parts);

  test('applies the known ones and leaves out the unknown', () => {
    expect(of('@@depth 2\n@@role user\n@@scan_depth 9\n@@unknown 1\n\nText.\n@@depth 5')).toMatchObject({
      position: 'depth',
      depth: 2,
      role: 'user',
      scanDepth: 9,
      content: 'Text.\n@@depth 5',
    });
    expect(of('@@position before_desc\n@@activate\nA')).toMatchObject({ position: 'before', constant: true });
    expect(of('@@additional_keys a, b\n@@exclude_keys c\nA')).toMatchObject({
      selective: true,
      secondaryKeys: ['a', 'b'],
      excludedBy: ['c'],
    });
    expect(of('@@depth x\nA')).not.toHaveProperty('depth');
    expect(of('No decorator.')).toMatchObject({ content: 'No decorator.' });
  });

  test.each([
    ['@@dont_activate', {}, false],
    ['@@activate_only_after 2', { replies: 1 }, false],
    ['@@activate_only_after 2', { replies: 2 }, true],
    ['@@activate_only_every 3', { replies: 4 }, false],
    ['@@activate_only_every 3', { replies: 6 }, true],
    ['@@is_greeting 1', { greeting: 0 }, false],
    ['@@is_greeting 1', { greeting: 1 }, true],
  ])('%s with %j enables it: %s', (line, parts, enabled) => {
    expect(of(`${line}\nText.`, parts)).toMatchObject({ enabled });
  });
});
