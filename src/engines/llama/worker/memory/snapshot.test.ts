import { describe, expect, test } from 'vitest';
import { chooseSnapshot, isCovered, overLimit, type SnapshotEntry, superseded, wholly } from './snapshot.ts';

const range = (from: number, to: number) => Int32Array.from({ length: to - from }, (_, index) => from + index);
const entry = (id: string, tokens: Int32Array, more: Partial<SnapshotEntry> = {}): SnapshotEntry => ({
  id,
  tokens,
  bytes: 10,
  checkpoints: [],
  usedAt: 0,
  ...more,
});
const wanted = range(0, 500);

describe('which snapshot is put back', () => {
  test('the one that shares most', () => {
    const entries = [entry('short', range(0, 200)), entry('long', range(0, 400)), entry('other', range(900, 999))];
    expect(chooseSnapshot(entries, wanted, 0, true)).toMatchObject({ entry: { id: 'long' }, saved: 400 });
  });
  test('none that saves only a few tokens more than what is at hand', () => {
    expect(chooseSnapshot([entry('a', range(0, 400))], wanted, 350, true)).toBeUndefined();
  });
  test('one token is always left to compute', () => {
    expect(chooseSnapshot([entry('a', range(0, 600))], wanted, 0, true)?.saved).toBe(499);
  });
  test('one that goes on differently only where the end can be forgotten', () => {
    const branched = entry('a', Int32Array.from([...range(0, 300), 7, 8, 9]));
    expect(chooseSnapshot([branched], wanted, 0, true)?.saved).toBe(300);
    expect(chooseSnapshot([branched], wanted, 0, false)).toBeUndefined();
    expect(chooseSnapshot([entry('b', range(0, 300))], wanted, 0, false)?.saved).toBe(300);
  });
  test('otherwise up to its last checkpoint before that', () => {
    const tokens = Int32Array.from([...range(0, 300), 7, 8, 9]);
    const branched = entry('a', tokens, { checkpoints: [100, 250, 301] });
    expect(chooseSnapshot([branched], wanted, 0, false)?.saved).toBe(250);
    expect(chooseSnapshot([branched], wanted, 200, false)).toBeUndefined();
  });
});

test('what is covered by another snapshot need not be kept again', () => {
  expect(isCovered([entry('a', range(0, 480))], wanted)).toBe(true);
  expect(isCovered([entry('a', range(0, 300))], wanted)).toBe(false);
  expect(isCovered([entry('a', range(0, 480))], wanted, wholly)).toBe(false);
  const alike = Int32Array.from([...range(0, 450), ...range(7000, 7100)]);
  expect(isCovered([entry('another chat that begins alike', alike)], wanted)).toBe(false);
  expect(isCovered([entry('a', range(0, 500))], wanted, wholly)).toBe(true);
});

test('a longer text makes the snapshots of its beginnings useless, and no others', () => {
  const entries = [entry('beginning', range(0, 200)), entry('other', range(1, 200)), entry('same', range(0, 500))];
  expect(superseded(entries, wanted).map(({ id }) => id)).toEqual(['beginning']);
});

test('over a limit the ones not used for longest go', () => {
  const [old, mid, fresh] = [1, 2, 3].map((usedAt) => entry(`e${usedAt}`, range(0, 1), { usedAt, bytes: 40 }));
  const entries = [mid, old, fresh] as SnapshotEntry[];
  expect(overLimit(entries, { bytes: 100, count: 9 })).toEqual([old]);
  expect(overLimit(entries, { bytes: 1000, count: 1 })).toEqual([mid, old]);
  expect(overLimit(entries, { bytes: 1000, count: 9 })).toEqual([]);
});

test('one that is larger than the limit goes alone', () => {
  const [old, large] = [40, 400].map((bytes, usedAt) => entry(`e${usedAt}`, range(0, 1), { usedAt, bytes }));
  expect(overLimit([old, large] as SnapshotEntry[], { bytes: 100, count: 9 })).toEqual([large]);
});
