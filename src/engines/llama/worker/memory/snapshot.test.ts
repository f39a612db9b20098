import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  Checkpoints,
  type CutOptions,
  checkpointCuts,
  chooseSnapshot,
  fullCoverage,
  isCovered,
  leastUseful,
  overLimit,
  type SnapshotEntry,
  superseded,
} from './snapshot.ts';

const range = (from: number, to: number) => Int32Array.from({ length: to - from }, (_, index) => from + index);
const entry = (id: string, tokens: Int32Array, more: Partial<SnapshotEntry> = {}): SnapshotEntry => ({
  id,
  tokens,
  bytes: 10,
  checkpoints: [],
  usedAt: 0,
  ...more,
});
const prompt = range(0, 500);

describe('chooseSnapshot', () => {
  test('the longest common prefix', () => {
    const entries = [entry('short', range(0, 200)), entry('long', range(0, 400)), entry('other', range(900, 999))];
    expect(chooseSnapshot(entries, prompt, 0, true)).toMatchObject({ entry: { id: 'long' }, saved: 400 });
  });
  test('none that saves only a few tokens more than the slot', () => {
    expect(chooseSnapshot([entry('a', range(0, 400))], prompt, 350, true)).toBeUndefined();
  });
  test('leaves one token to compute', () => {
    expect(chooseSnapshot([entry('a', range(0, 600))], prompt, 0, true)?.saved).toBe(499);
  });
  test('a later difference only if the memory can be rewound', () => {
    const branched = entry('a', Int32Array.from([...range(0, 300), 7, 8, 9]));
    expect(chooseSnapshot([branched], prompt, 0, true)?.saved).toBe(300);
    expect(chooseSnapshot([branched], prompt, 0, false)).toBeUndefined();
    expect(chooseSnapshot([entry('b', range(0, 300))], prompt, 0, false)?.saved).toBe(300);
  });
  test('otherwise up to its last checkpoint before the difference', () => {
    const tokens = Int32Array.from([...range(0, 300), 7, 8, 9]);
    const branched = entry('a', tokens, { checkpoints: [100, 250, 301] });
    expect(chooseSnapshot([branched], prompt, 0, false)?.saved).toBe(250);
    expect(chooseSnapshot([branched], prompt, 200, false)).toBeUndefined();
  });
});

test('isCovered: true if another snapshot contains it', () => {
  expect(isCovered([entry('a', range(0, 480))], prompt)).toBe(true);
  expect(isCovered([entry('a', range(0, 300))], prompt)).toBe(false);
  expect(isCovered([entry('a', range(0, 480))], prompt, fullCoverage)).toBe(false);
  const alike = Int32Array.from([...range(0, 450), ...range(7000, 7100)]);
  expect(isCovered([entry('another chat that begins alike', alike)], prompt)).toBe(false);
  expect(isCovered([entry('a', range(0, 500))], prompt, fullCoverage)).toBe(true);
});

test('superseded: snapshots of its prefixes only', () => {
  const entries = [entry('beginning', range(0, 200)), entry('other', range(1, 200)), entry('same', range(0, 500))];
  expect(superseded(entries, prompt).map(({ id }) => id)).toEqual(['beginning']);
});

test('overLimit: evicts the least recently used', () => {
  const [old, mid, fresh] = [1, 2, 3].map((usedAt) => entry(`e${usedAt}`, range(0, 1), { usedAt, bytes: 40 }));
  const entries = [mid, old, fresh] as SnapshotEntry[];
  expect(overLimit(entries, { bytes: 100, count: 9 })).toEqual([old]);
  expect(overLimit(entries, { bytes: 1000, count: 1 })).toEqual([mid, old]);
  expect(overLimit(entries, { bytes: 1000, count: 9 })).toEqual([]);
});

test('overLimit: a snapshot above the limit goes alone', () => {
  const [old, large] = [40, 400].map((bytes, usedAt) => entry(`e${usedAt}`, range(0, 1), { usedAt, bytes }));
  expect(overLimit([old, large] as SnapshotEntry[], { bytes: 100, count: 9 })).toEqual([large]);
});

const at = (index: number, bytes = 10) => ({ index, state: new Uint8Array(bytes) });
const made = (limits = {}) => new Checkpoints({ count: 3, bytes: 1000, ...limits });
const cutIndices = (list: Checkpoints) => list.all.map(({ index }) => index);

test('Checkpoints: finds the last one up to a position', () => {
  const list = made();
  for (const index of [100, 200, 300]) list.add(at(index), 301);
  expect([99, 100, 250, 900].map((index) => list.upTo(index)?.index)).toEqual([undefined, 100, 200, 300]);
});

test('Checkpoints: drops those after a change', () => {
  const list = made();
  for (const index of [100, 200, 300]) list.add(at(index), 301);
  list.dropBehind(200);
  expect([cutIndices(list), list.bytes]).toEqual([[100, 200], 20]);
});

test('Checkpoints: a new one replaces the old one at its position', () => {
  const list = made();
  for (const bytes of [10, 20]) list.add(at(100, bytes), 200);
  expect([cutIndices(list), list.bytes]).toEqual([[100], 20]);
});

test('Checkpoints: ignores a state that the library could not give', () => {
  const list = made();
  list.add(at(100, 0), 200);
  expect(cutIndices(list)).toEqual([]);
});

describe('Checkpoints: limited by', () => {
  test('number', () => {
    const list = made();
    for (const index of [100, 110, 800, 990]) list.add(at(index), 1000);
    expect(cutIndices(list)).toHaveLength(3);
    expect(cutIndices(list)).toContain(990);
  });
  test('bytes', () => {
    const list = made({ bytes: 250 });
    for (const index of [100, 800, 990]) list.add(at(index, 100), 1000);
    expect(list.bytes).toBe(200);
    list.add(at(995, 251), 1000);
    expect(cutIndices(list)).not.toContain(995);
  });
});

const cuts = (end: number, more: Partial<CutOptions> = {}) =>
  checkpointCuts({ from: 0, end, spare: 0, startsTurn: () => false, ...more });

describe('checkpointCuts', () => {
  test('before the last token, and at growing distances from the end', () =>
    expect(cuts(8000)).toEqual([8000 - 4097, 8000 - 1025, 8000 - 257, 8000 - 65, 7999]));
  test('only in new tokens, and never for a few tokens', () =>
    expect(cuts(8000, { from: 7700 })).toEqual([8000 - 65, 7999]));
  test('none in a short text', () => expect(cuts(20)).toEqual([]));
  test('at the start of a turn shortly before', () =>
    expect(cuts(1000, { startsTurn: (index) => [300, 600, 880].includes(index) })).toEqual([600, 880, 999]));
  test('none if the memory can be rewound', () =>
    expect(cuts(8000, { spare: 256 })).toEqual([8000 - 4097, 8000 - 1025, 8000 - 257, 7999]));
  test('sorted, within the text, at least 64 rows apart except for the last token', () => {
    const turn = fc.func(fc.boolean());
    fc.assert(
      fc.property(fc.nat(40_000), fc.nat(5000), fc.nat(600), turn, (from, more, spare, startsTurn) => {
        const end = from + more + 1;
        const cutIndices = [from, ...checkpointCuts({ from, end, spare, startsTurn })];
        for (const [index, cut] of cutIndices.entries()) {
          const next = cutIndices[index + 1];
          if (next === undefined) continue;
          expect(next - cut).toBeGreaterThanOrEqual(next === end - 1 ? 1 : 64);
        }
        expect(cutIndices.at(-1)).toBeLessThan(end);
      }),
    );
  });
});

describe('leastUseful', () => {
  test('one that is close to its neighbours, relative to the end', () => {
    expect(leastUseful([4000, 4100, 7000, 7900, 7999], 8000)).toBe(0);
    expect(leastUseful([1000, 3000, 3500, 6000, 7999], 8000)).toBe(1);
  });
  test('never the newest', () => {
    const indices = fc.uniqueArray(fc.integer({ min: 1, max: 9999 }), { minLength: 2, maxLength: 9 });
    fc.assert(
      fc.property(indices, (list) => {
        const sorted = list.sort((a, b) => a - b);
        expect(leastUseful(sorted, 10_000)).toBeLessThan(sorted.length - 1);
      }),
    );
  });
  test('a chat of many turns has both new and old checkpoints', () => {
    const kept: number[] = [];
    let end = 0;
    for (let turn = 0; turn < 100; turn += 1) {
      end += 300;
      for (const cut of [end - 65, end - 1]) {
        kept.push(cut);
        if (kept.length > 8) kept.splice(leastUseful(kept, end), 1);
      }
    }
    // At any distance of a change from the end, not much more than four times that distance is recomputed.
    const worst = Array.from({ length: end - 1 }, (_, index) => {
      const from = kept.findLast((cut) => cut <= index) ?? 0;
      return (end - from) / Math.max(64, end - index);
    });
    expect(Math.max(...worst)).toBeLessThan(6);
    expect(kept.at(-1)).toBe(end - 1);
  });
});
