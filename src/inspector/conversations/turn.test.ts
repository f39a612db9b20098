import { describe, expect, test } from 'vitest';
import type { PromptOrigin } from '../../core/events.ts';
import { assignmentOf, lossOf, measured, secondsFor } from './turn.ts';

type Previous = NonNullable<PromptOrigin['previous']>;

const originOf = (previous: Partial<Previous> = {}): PromptOrigin => ({
  sequence: 2,
  previous: { sequence: 1, common: 10_000, promptTokens: 10_000, tokens: 10_500, relation: 'continues', ...previous },
});

describe('lossOf', () => {
  const startOf = (previous: Partial<Previous>, cachedTokens: number, droppedTokens = 0) => ({
    ...({ type: 'start', maxTokens: 1, seed: 1 } as const),
    promptTokens: 11_000,
    cachedTokens,
    droppedTokens,
    origin: originOf(previous),
    miss: {
      time: 0,
      promptTokens: 11_000,
      reusedTokens: 0,
      partedAt: previous.common ?? 10_000,
      before: 'Today is ',
      kept: 'Tuesday',
      wanted: 'Wednesday',
    },
  });
  const words = { before: 'Today is ', was: 'Tuesday', is: 'Wednesday' };

  test('a turn that only appends has none', () => {
    expect(lossOf(startOf({ common: 10_500 }, 10_499))).toBeUndefined();
  });

  test('a changed line costs what was computed behind it', () => {
    const loss = lossOf(startOf({ common: 200, relation: 'edits' }, 200));
    expect(loss).toEqual({ cause: 'changed', tokens: 10_300, at: 200, ...words });
  });

  test('a reply in another form costs the reply', () => {
    expect(lossOf(startOf({}, 10_000))).toEqual({ cause: 'reply', tokens: 500, at: 10_000, ...words });
  });

  test('a state that was not kept costs the common beginning, and has no words', () => {
    const loss = lossOf(startOf({ common: 10_500 }, 0));
    expect(loss).toEqual({ cause: 'evicted', tokens: 10_500, at: 10_500, before: '', was: '', is: '' });
  });

  test('a dropped beginning costs what is not cached', () => {
    expect(lossOf(startOf({ common: 100, relation: 'other' }, 100, 2_000))).toMatchObject({
      cause: 'trimmed',
      tokens: 10_400,
    });
  });

  test('a retry, a shorter chat, a few tokens and a first prompt have none', () => {
    expect(lossOf(startOf({ common: 9_000, relation: 'branches' }, 9_000))).toBeUndefined();
    expect(lossOf(startOf({ common: 3_000, relation: 'other' }, 3_000))).toBeUndefined();
    expect(lossOf(startOf({ common: 10_450 }, 10_440))).toBeUndefined();
    expect(lossOf({ ...startOf({}, 0), origin: { sequence: 1 } })).toBeUndefined();
  });
});

describe('assignmentOf', () => {
  const conversation = (name: string, session?: string) => ({ name, session, firstPromptTokens: 9_000 });
  const [mine, other] = [conversation('mine', 'a'), conversation('other', 'b')];
  const none = { previous: undefined, ofSession: undefined, latest: undefined };
  const asked = (previous?: Partial<Previous>, session?: string, task?: 'title' | 'compaction') => ({
    session,
    task,
    promptTokens: 11_000,
    origin: previous && originOf(previous),
  });

  test.each([
    ['a prompt that repeats the last one', asked({}), { ...none, previous: mine }, 'mine', 'turn'],
    ['… also under a new session: it was resumed', asked({}, 'c'), { ...none, previous: mine }, 'mine', 'turn'],
    ['a changed line', asked({ common: 50, relation: 'edits' }), { ...none, previous: mine }, 'mine', 'turn'],
    [
      '… of another session',
      asked({ common: 50, relation: 'edits' }, 'c'),
      { ...none, previous: mine },
      undefined,
      'turn',
    ],
    ['a retry', asked({ common: 9_500, relation: 'branches' }), { ...none, previous: mine }, 'mine', 'turn'],
    [
      'the same system prompt',
      asked({ common: 8_900, relation: 'branches' }),
      { ...none, previous: mine },
      undefined,
      'turn',
    ],
    [
      'a compacted chat of the same session',
      asked({ common: 8_000, relation: 'other' }, 'a'),
      { ...none, previous: other, ofSession: mine },
      'mine',
      'turn',
    ],
    [
      'another short request of the same session',
      asked({ common: 5, relation: 'other' }, 'a'),
      { ...none, ofSession: mine },
      'mine',
      'side',
    ],
    ['a title', asked(undefined, undefined, 'title'), { ...none, latest: other }, 'other', 'side'],
    ['a title of a session', asked({}, 'a', 'title'), { ...none, ofSession: mine, latest: other }, 'mine', 'side'],
    [
      'a compaction without the tools',
      asked(undefined, 'a', 'compaction'),
      { ...none, ofSession: mine },
      'mine',
      'turn',
    ],
    ['a request of a session to a remote backend', asked(undefined, 'a'), { ...none, ofSession: mine }, 'mine', 'turn'],
    ['a first request', asked(), none, undefined, 'turn'],
  ] as const)('%s', (_, request, candidates, name, as) => {
    const place = assignmentOf(request, candidates);
    expect([place.conversation?.name, place.as]).toEqual([name, as]);
  });
});

describe('seconds', () => {
  test('are those of the measured prompt speed', () => {
    const speed = measured(measured(undefined, 1000, 2000), 3000, 10_000);
    expect(secondsFor(2000, speed)).toBe(6);
  });

  test('are unknown before a prompt was measured, and short prompts are not measured', () => {
    expect(secondsFor(2000, measured(undefined, 4, 100))).toBeNull();
    expect(secondsFor(0, measured(undefined, 400, 100))).toBe(0);
  });

  test('newer measurements outweigh older ones', () => {
    const old = measured(undefined, 200_000, 200_000);
    expect(secondsFor(1000, measured(old, 100_000, 300_000))).toBe(2);
  });
});
