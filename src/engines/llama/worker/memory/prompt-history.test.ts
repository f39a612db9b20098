import { describe, expect, test } from 'vitest';
import { PromptHistory } from './prompt-history.ts';

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);
const tokens = (...parts: number[][]) => Int32Array.from(parts.flat());
/** Tokens from 90,000 on are control tokens. */
const [begin, end] = [90_000, 90_001];
const turn = (...words: number[][]) => [begin, ...words.flat(), end];
const newHistory = (limits = { sequences: 32, tokens: 2 ** 20 }) =>
  new PromptHistory({
    detokenize: (list) => [...list].join(' '),
    isControl: (token) => token >= begin,
    now: () => 123,
    limits,
  });

describe('misses', () => {
  test('have the index of the difference, both texts and reused tokens', () => {
    const history = newHistory();
    history.record(tokens(range(0, 20), [7], range(30, 130)), 0);
    const { miss } = history.record(tokens(range(0, 20), [8], range(30, 160)), 16);
    expect(miss).toEqual({
      time: 123,
      partedAt: 20,
      promptTokens: 151,
      reusedTokens: 16,
      before: range(8, 20).join(' '),
      kept: [7, ...range(30, 41)].join(' '),
      wanted: [8, ...range(30, 41)].join(' '),
    });
    expect(history.misses).toEqual([miss]);
  });

  test.each([
    ['a chat that goes on', range(0, 20), range(0, 40)],
    ['the same prompt again', range(0, 20), range(0, 20)],
    ['an empty history', [], range(0, 20)],
    ['another chat that begins alike', range(0, 200), [...range(0, 20), ...range(500, 600)]],
  ])('%s is none', (_, first, second) => {
    const history = newHistory();
    if (first.length > 0) history.record(tokens(first), 0);
    expect(history.record(tokens(second), 0).miss).toBeUndefined();
    expect(history.misses).toEqual([]);
  });

  test('have no media ids, and only the last are kept', () => {
    const history = newHistory();
    for (let round = 0; round < 30; round += 1) {
      history.record(tokens([round + 10, 2, 3, 4]), 0);
      history.record(tokens([round + 10, -9, round + 10, 5]), 0);
    }
    expect(history.misses).toHaveLength(20);
    expect(history.misses.at(-1)?.wanted).toBe('39 5');
  });
});

describe('origin', () => {
  const system = turn(range(0, 400));
  const opening = [begin, 1000];

  test('turns of a conversation have one sequence, also if its reply comes back without the thinking', () => {
    const history = newHistory();
    const first = [...system, ...turn(range(500, 540))];
    const { origin } = history.record(tokens(first, opening, [70]), 0);
    expect(origin).toEqual({ sequence: 124 });
    history.ended(origin, tokens(first, opening, [70], range(600, 650)));
    const second = [...first, ...opening, ...range(640, 650), end, ...turn([1, 2])];
    expect(history.record(tokens(second, opening, [70]), 440).origin).toEqual({
      sequence: 124,
      previous: {
        sequence: 124,
        common: first.length + 2,
        promptTokens: first.length + 3,
        tokens: first.length + 53,
        relation: 'continues',
      },
    });
    const third = [...second, ...opening, 9, end, ...turn([3])];
    expect(history.record(tokens(third, opening, [70]), 0).origin.sequence).toBe(124);
  });

  test('another conversation with the same system prompt has another sequence, however short its question', () => {
    const history = newHistory();
    history.record(tokens(system, turn([501]), opening), 0);
    expect(history.record(tokens(system, turn([502]), opening), 0).origin).toMatchObject({
      sequence: 125,
      previous: { sequence: 124, common: system.length + 1, relation: 'branches' },
    });
  });

  test('a line near the top that changes is an edit', () => {
    const history = newHistory();
    const rest = [...range(30, 400), ...turn(range(500, 540))];
    history.record(tokens([begin, ...range(0, 20), 7], rest, opening), 0);
    const { origin, miss } = history.record(tokens([begin, ...range(0, 20), 8], rest, [begin, 4, end], opening), 0);
    expect(origin).toMatchObject({ sequence: 125, previous: { sequence: 124, common: 21, relation: 'edits' } });
    expect(miss?.partedAt).toBe(21);
  });

  test('another conversation whose system prompt differs in a line is no edit', () => {
    const history = newHistory();
    const rest = [...range(30, 400), end];
    history.record(tokens([begin, ...range(0, 20), 7], rest, turn(range(500, 540)), opening), 0);
    const { origin } = history.record(tokens([begin, ...range(0, 20), 8], rest, turn(range(700, 740)), opening), 0);
    expect(origin.previous).toMatchObject({ common: 21, relation: 'other' });
  });

  test('side requests between two turns do not take a sequence away', () => {
    const history = newHistory();
    const first = [...system, ...turn(range(500, 540))];
    history.record(tokens(first, opening), 0);
    for (let side = 0; side < 8; side += 1) history.record(tokens(turn(range(2000 + side, 2100 + side)), opening), 0);
    expect(history.record(tokens(first, opening, [9, end]), 0).origin.sequence).toBe(124);
  });

  test('the oldest sequences are forgotten, by their number and by their tokens', () => {
    const few = newHistory({ sequences: 2, tokens: 1000 });
    for (const start of [0, 1000, 2000]) few.record(tokens(range(start, start + 100)), 0);
    expect(few.record(tokens(range(0, 120)), 0).origin.previous).toBeUndefined();
    expect(few.record(tokens(range(2000, 2120)), 0).origin.previous?.sequence).toBe(126);
    const large = newHistory({ sequences: 32, tokens: 150 });
    for (const start of [0, 1000]) large.record(tokens(range(start, start + 100)), 0);
    expect(large.record(tokens(range(0, 120)), 0).origin.previous).toBeUndefined();
  });
});
