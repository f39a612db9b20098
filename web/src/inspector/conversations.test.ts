import { describe, expect, test } from 'vitest';
import {
  adviceOf,
  barParts,
  byClient,
  type Conversation,
  type Loss,
  longestTurn,
  numbered,
  type Turn,
  worstLosses,
} from './conversations.ts';

const lossOf = (changes: Partial<Loss> = {}): Loss => ({
  cause: 'changed',
  tokens: 500,
  seconds: 5,
  at: 20,
  before: 'a ',
  was: 'b',
  is: 'c',
  ...changes,
});
const turnOf = (changes: Partial<Turn> = {}): Turn => ({
  time: '2026-01-01T00:00:00Z',
  task: null,
  prompt_tokens: 1000,
  first_token_ms: 100,
  loss: null,
  cached_tokens: 0,
  computed_tokens: 1000,
  written_tokens: 50,
  ...changes,
});
const conversationOf = (number: number, client: string, history: readonly Turn[] = []): Conversation => ({
  number,
  client,
  history,
  key: null,
  model: 'tiny',
  sub_agent: false,
  started: '',
  turns: history.length,
  side_requests: 0,
  cached_tokens: 0,
  computed_tokens: 0,
  written_tokens: 0,
  saved_seconds: 60,
  lost_seconds: null,
});

test('byClient: keeps the order, and adds up what is known', () => {
  const all = [conversationOf(3, 'Codex'), conversationOf(2, 'Claude Code'), conversationOf(1, 'Codex')];
  expect(
    byClient(all).map(({ client, conversations, savedSeconds, lostSeconds }) => [
      client,
      conversations.map(({ number }) => number),
      savedSeconds,
      lostSeconds,
    ]),
  ).toEqual([
    ['Codex', [3, 1], 120, 0],
    ['Claude Code', [2], 60, 0],
  ]);
});

test('worstLosses: the same line counts once, with all its tokens', () => {
  const history = [turnOf(), turnOf({ loss: lossOf() }), turnOf({ loss: lossOf({ was: 'c', is: 'd' }) })];
  const other = [turnOf({ loss: lossOf({ cause: 'evicted', tokens: 900, seconds: null }) })];
  const all = [conversationOf(1, 'Codex', history), conversationOf(2, 'Codex', other)];
  expect(worstLosses(all, 5).map(({ times, tokens, seconds, loss }) => [loss.cause, times, tokens, seconds])).toEqual([
    ['changed', 2, 1000, 10],
    ['evicted', 1, 900, null],
  ]);
  expect(worstLosses(all, 1)).toHaveLength(1);
});

test.each([
  [lossOf({ before: 'The time is ', was: '12:30', is: '12:31' }), 'clock'],
  [lossOf({ before: 'It is 12:3', was: '0. Hello', is: '1. Hello' }), 'clock'],
  [lossOf({ before: "Today's date: ", was: 'Tuesday', is: 'Wednesday' }), 'clock'],
  [lossOf({ before: 'Notes: ', was: 'red', is: 'blue' }), 'changed'],
  [lossOf({ cause: 'reply', was: '12:30' }), 'reply'],
])('adviceOf: %j is %s', (loss, advice) => {
  expect(adviceOf(loss)).toBe(advice);
});

describe('bars', () => {
  test('have the parts side by side, with what was lost before what is new', () => {
    const turn = turnOf({ cached_tokens: 200, computed_tokens: 700, written_tokens: 100, loss: lossOf() });
    expect(barParts(turn, 2000)).toEqual([
      { name: 'cached', from: 0, width: 100 },
      { name: 'lost', from: 100, width: 250 },
      { name: 'computed', from: 350, width: 100 },
      { name: 'written', from: 450, width: 50 },
    ]);
  });

  test('the longest turn has the whole width', () => {
    expect(longestTurn([turnOf(), turnOf({ cached_tokens: 500 })])).toBe(1550);
    expect(longestTurn([])).toBe(0);
    expect(barParts(turnOf({ computed_tokens: 0, written_tokens: 0 }), 0)).toEqual([]);
  });
});

test('numbered: counts turns, also if the first ones are no longer kept, and no side requests', () => {
  const history = [turnOf(), turnOf({ task: 'title' }), turnOf({ task: 'compaction' })];
  expect(numbered({ history, turns: 9 }).map(({ number }) => number)).toEqual([8, undefined, 9]);
});
