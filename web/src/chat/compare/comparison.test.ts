import { expect, test } from 'vitest';
import type { Turn } from '../../conversations/conversation.ts';
import { emptyChat, pathOf, withTurn } from '../../conversations/tree.ts';
import { labelsOf, openComparison, ranked, shuffled, tallied } from './comparison.ts';

test.each([
  [
    ['A', ''],
    ['B', ''],
    ['A', 'B'],
  ],
  [
    ['A', 'precise'],
    ['A', 'creative'],
    ['precise', 'creative'],
  ],
  [
    ['A', 'precise'],
    ['B', 'creative'],
    ['A · precise', 'B · creative'],
  ],
  [
    ['A', 'precise'],
    ['B', 'precise'],
    ['A', 'B'],
  ],
  [
    ['A', 'x'],
    ['A', 'x'],
    ['A · x', 'A · x'],
  ],
])('labelsOf: %j and %j', ([a = '', b = ''], [c = '', d = ''], labels) => {
  expect(
    labelsOf([
      { model: a, preset: b },
      { model: c, preset: d },
    ]),
  ).toEqual(labels);
});

test('shuffled: keeps all items', () => {
  expect(shuffled([1, 2, 3], () => 0)).toEqual([1, 2, 3]);
  expect(shuffled([1, 2, 3], () => 0.99)).toEqual([3, 2, 1]);
});

test('openComparison: only while its replies are the end of the chat', () => {
  const question: Turn = { id: 'q', parent: null, role: 'user', text: 'Hi', at: 1 };
  const reply = (id: string): Turn => ({ id, parent: 'q', role: 'assistant', text: id, at: 2 });
  const candidates = [
    { id: 'a', label: 'A' },
    { id: 'b', label: 'B' },
  ];
  const asked = { ...withTurn(emptyChat('c', 1), question), comparison: { blind: false, candidates } };
  const both = withTurn(withTurn(asked, reply('b')), reply('a'));
  expect(openComparison(both, pathOf(both))).toMatchObject({ parent: 'q', candidates });
  expect(openComparison(asked, pathOf(asked))).toBeUndefined();
  const one = withTurn(asked, reply('a'));
  expect(openComparison(one, pathOf(one))).toBeUndefined();
  const more = withTurn(both, { id: 'n', parent: 'a', role: 'user', text: 'x', at: 3 });
  expect(openComparison(more, pathOf(more))).toBeUndefined();
});

test('tallied: counts each candidate, and ranked sorts them by their share', () => {
  const tally = tallied(tallied(tallied({}, ['A', 'B'], 'A'), ['A', 'B'], 'B'), ['A', 'C'], 'C');
  expect(tally).toEqual({ A: { wins: 1, total: 3 }, B: { wins: 1, total: 2 }, C: { wins: 1, total: 1 } });
  expect(ranked(tally).map(({ label }) => label)).toEqual(['C', 'B', 'A']);
});
