import { describe, expect, test } from 'vitest';
import { DraftLength } from './draft-length.ts';

/** The lengths of the next drafts, of which at most `right` tokens are right. */
function lengths(draft: DraftLength, steps: number, right: number, streams = 1): number[] {
  return Array.from({ length: steps }, () => {
    const length = draft.next(streams);
    draft.result(Math.min(right, length), Math.max(0, length - right));
    return length;
  });
}

test('DraftLength: stays at the most while drafts are right', () => {
  expect(lengths(new DraftLength(8), 4, 8)).toEqual([8, 8, 8, 8]);
});

test('DraftLength: follows what is right, one token further', () => {
  expect(lengths(new DraftLength(8), 4, 2)).toEqual([8, 3, 3, 3]);
});

test('DraftLength: after wrong drafts it is shorter, then there are longer and longer pauses', () => {
  expect(lengths(new DraftLength(8), 14, 0)).toEqual([8, 4, 2, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0]);
});

test('DraftLength: a model whose drafts are never right drafts in one step of a hundred', () => {
  const draft = new DraftLength(8);
  lengths(draft, 400, 0);
  expect(lengths(draft, 400, 0).filter((length) => length > 0).length).toBeLessThanOrEqual(4);
});

test('DraftLength: begins with what the drafts of other texts have shown', () => {
  const record = { wrongInARow: 0 };
  lengths(new DraftLength(8, record), 300, 0);
  expect(lengths(new DraftLength(8, record), 17, 8)).toEqual([...Array(16).fill(0), 1]);
  expect(lengths(new DraftLength(8, record), 2, 8)).toEqual([8, 8]);
});

test('DraftLength: grows again when drafts become right', () => {
  const draft = new DraftLength(8);
  lengths(draft, 6, 0);
  expect(lengths(draft, 9, 8)).toEqual([0, 0, 0, 0, 1, 2, 4, 8, 8]);
});

test('DraftLength: a step for which there was no draft changes nothing', () => {
  const draft = new DraftLength(8);
  for (let step = 0; step < 5; step += 1) draft.result(0, 0);
  expect(draft.next()).toBe(8);
});

describe('DraftLength: in blocks of four rows, of which one is the token before the draft', () => {
  const inBlocks = (most: number) => new DraftLength(most, undefined, 4);

  test.each([
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 3],
    [7, 7],
    [8, 7],
    [16, 15],
  ])('of at most %i tokens it drafts %i', (most, length) => {
    expect(lengths(inBlocks(most), 3, most)).toEqual([length, length, length]);
  });

  test('follows what is right in whole blocks', () => {
    expect(lengths(inBlocks(16), 4, 2)).toEqual([15, 3, 3, 3]);
    expect(lengths(inBlocks(16), 4, 6)).toEqual([15, 7, 7, 7]);
  });

  test('after wrong drafts it is shorter, and grows again when they become right', () => {
    const draft = inBlocks(8);
    expect(lengths(draft, 6, 0)).toEqual([7, 3, 3, 0, 0, 1]);
    expect(lengths(draft, 8, 8)).toEqual([0, 0, 0, 0, 1, 3, 7, 7]);
  });
});

describe('DraftLength: beside other texts, where drafted tokens need a pass of their own', () => {
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
