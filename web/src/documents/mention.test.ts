import { expect, test } from 'vitest';
import { matching, mentionAt, mentioned } from './mention.ts';

const named = (...names: string[]) => names.map((name) => ({ id: name, name }));
const namesOf = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);

test.each([
  ['#', 1, { start: 0, query: '' }],
  ['ask #Han', 8, { start: 4, query: 'Han' }],
  ['ask #Han more', 8, { start: 4, query: 'Han' }],
  ['line\n#ä', 7, { start: 5, query: 'ä' }],
  ['# Heading', 9, undefined],
  ['a#b', 3, undefined],
  ['ask #Han ', 9, undefined],
  ['##', 2, undefined],
  ['', 0, undefined],
])('mentionAt: %j at %i', (text, caret, expected) => {
  expect(mentionAt(text, caret)).toEqual(expected);
});

test('mentioned: whole names with any case, the longest first', () => {
  const collections = named('Trip', 'Trip notes', 'C', 'Tax');
  expect(namesOf(mentioned('Look in #trip Notes, and #TAX.', collections))).toEqual(['Trip notes', 'Tax']);
  expect(namesOf(mentioned('#Trip and #Trip notes', collections))).toEqual(['Trip notes', 'Trip']);
  expect(mentioned('#Tripod, mail#Tax, Trip', collections)).toEqual([]);
});

test('matching: names that begin with what is typed come first', () => {
  expect(namesOf(matching(named('My notes', 'Notes', 'Tax', 'Notary'), 'not'))).toEqual([
    'Notary',
    'Notes',
    'My notes',
  ]);
});
