import { describe, expect, test } from 'vitest';
import { DraftLength } from './draft-length.ts';

/** The lengths of the next drafts, of which at most `correct` tokens are accepted. */
function lengths(draft: DraftLength, steps: number, correct: number, sequences = 1): number[] {
  return Array.from({ length: steps }, () => {
    const length = draft.next(sequences);
    draft.result(Math.min(correct, length), Math.max(0, length - correct));
    return length;
  });
}

test('DraftLength: stays at the maximum while all tokens are accepted', () => {
  expect(lengths(new DraftLength(8), 4, 8)).toEqual([8, 8, 8, 8]);
});

test('DraftLength: is one more than the tokens accepted last', () => {
  expect(lengths(new DraftLength(8), 4, 2)).toEqual([8, 3, 3, 3]);
});

test('DraftLength: after rejected drafts, halves the length and then pauses for longer and longer', () => {
  expect(lengths(new DraftLength(8), 14, 0)).toEqual([8, 4, 2, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0]);
});

test('DraftLength: if every draft is rejected, drafts in one step of a hundred', () => {
  const draft = new DraftLength(8);
  lengths(draft, 400, 0);
  expect(lengths(draft, 400, 0).filter((length) => length > 0).length).toBeLessThanOrEqual(4);
});

test('DraftLength: starts with the rejections of earlier requests', () => {
  const record = { rejectedInARow: 0 };
  lengths(new DraftLength(8, record), 300, 0);
  expect(lengths(new DraftLength(8, record), 17, 8)).toEqual([...Array(16).fill(0), 1]);
  expect(lengths(new DraftLength(8, record), 2, 8)).toEqual([8, 8]);
});

test('DraftLength: grows again once drafts are accepted', () => {
  const draft = new DraftLength(8);
  lengths(draft, 6, 0);
  expect(lengths(draft, 9, 8)).toEqual([0, 0, 0, 0, 1, 2, 4, 8, 8]);
});

test('DraftLength: a step without a draft changes nothing', () => {
  const draft = new DraftLength(8);
  for (let step = 0; step < 5; step += 1) draft.result(0, 0);
  expect(draft.next()).toBe(8);
});

describe('DraftLength: single sequence, kernel blocks of four rows including the token before the draft', () => {
  const inBlocks = (max: number) => new DraftLength(max, undefined, 4);

  test.each([
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 3],
    [7, 7],
    [8, 7],
    [16, 15],
  ])('maximum of %i tokens: drafts %i', (max, length) => {
    expect(lengths(inBlocks(max), 3, max)).toEqual([length, length, length]);
  });

  test('follows the accepted tokens in whole blocks', () => {
    expect(lengths(inBlocks(16), 4, 2)).toEqual([15, 3, 3, 3]);
    expect(lengths(inBlocks(16), 4, 6)).toEqual([15, 7, 7, 7]);
  });

  test('shrinks after rejected drafts and grows again after accepted ones', () => {
    const draft = inBlocks(8);
    expect(lengths(draft, 6, 0)).toEqual([7, 3, 3, 0, 0, 1]);
    expect(lengths(draft, 8, 8)).toEqual([0, 0, 0, 0, 1, 3, 7, 7]);
  });
});

describe('DraftLength: several sequences, where drafted tokens need a pass of their own', () => {
  test('a draft goes on while as many tokens are right as there are texts', () => {
    expect(lengths(new DraftLength(8), 4, 3, 3)).toEqual([8, 4, 4, 4]);
  });

  test('fewer right tokens soon lead to long pauses', () => {
    expect(lengths(new DraftLength(8), 40, 1, 2).filter((length) => length > 0).length).toBeLessThan(5);
  });

  test('no drafts with more texts than half of a draft has tokens', () => {
    expect(lengths(new DraftLength(4), 3, 4, 3)).toEqual([0, 0, 0]);
    expect(lengths(new DraftLength(8), 3, 8, 5)).toEqual([0, 0, 0]);
  });

  test('after a pause a draft is as long as it must be to be worth it, and grows from there', () => {
    const draft = new DraftLength(8);
    lengths(draft, 40, 0, 2);
    expect(
      lengths(draft, 200, 8, 2)
        .filter((length) => length > 0)
        .slice(0, 3),
    ).toEqual([2, 4, 8]);
  });

  test('alone again, it goes on as before', () => {
    const draft = new DraftLength(4);
    lengths(draft, 20, 4, 3);
    expect(lengths(draft, 2, 4)).toEqual([4, 4]);
  });

  test('the draft itself fills blocks, because the token before it is in another pass', () => {
    expect(lengths(new DraftLength(4, undefined, 4), 2, 4, 2)).toEqual([4, 4]);
  });
});
