import { expect, test } from 'vitest';
import { DraftLength } from './draft-length.ts';

/** The lengths of the next drafts, of which at most `right` tokens are right. */
function lengths(draft: DraftLength, steps: number, right: number): number[] {
  return Array.from({ length: steps }, () => {
    const length = draft.next();
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

test('DraftLength: a model whose drafts are never right drafts in one step of thirty', () => {
  const draft = new DraftLength(8);
  lengths(draft, 200, 0);
  expect(lengths(draft, 330, 0).filter((length) => length > 0).length).toBeLessThanOrEqual(11);
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
