import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  Checkpoints,
  type CutQuestion,
  checkpointCuts,
  chooseSnapshot,
  isCovered,
  leastUseful,
  overLimit,
  type SnapshotEntry,
  superseded,
  wholly,
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
  test('one that differs later only if the memory can be rewound', () => {
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

test('superseded: snapshots of its prefixes only', () => {
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

const at = (index: number, bytes = 10) => ({ index, state: new Uint8Array(bytes) });
const made = (limits = {}) => new Checkpoints({ count: 3, bytes: 1000, ...limits });
const places = (list: Checkpoints) => list.all.map(({ index }) => index);

test('the last one up to a place is found', () => {
  const list = made();
  for (const index of [100, 200, 300]) list.add(at(index), 301);
  expect([99, 100, 250, 900].map((index) => list.upTo(index)?.index)).toEqual([undefined, 100, 200, 300]);
});

test('those behind a change are dropped', () => {
  const list = made();
  for (const index of [100, 200, 300]) list.add(at(index), 301);
  list.dropBehind(200);
  expect([places(list), list.bytes]).toEqual([[100, 200], 20]);
});

test('one that is made again replaces the old one', () => {
  const list = made();
  for (const bytes of [10, 20]) list.add(at(100, bytes), 200);
  expect([places(list), list.bytes]).toEqual([[100], 20]);
});

test('one that the library could not give is none', () => {
  const list = made();
  list.add(at(100, 0), 200);
  expect(places(list)).toEqual([]);
});

describe('there are never more than', () => {
  test('their number allows', () => {
    const list = made();
    for (const index of [100, 110, 800, 990]) list.add(at(index), 1000);
    expect(places(list)).toHaveLength(3);
    expect(places(list)).toContain(990);
  });
  test('their bytes allow', () => {
    const list = made({ bytes: 250 });
    for (const index of [100, 800, 990]) list.add(at(index, 100), 1000);
    expect(list.bytes).toBe(200);
    list.add(at(995, 251), 1000);
    expect(places(list)).not.toContain(995);
  });
});

const cuts = (end: number, more: Partial<CutQuestion> = {}) =>
  checkpointCuts({ from: 0, end, spare: 0, startsTurn: () => false, ...more });

describe('where reading a prompt stops', () => {
  test('before its last token, and at growing distances from its end', () =>
    expect(cuts(8000)).toEqual([8000 - 4097, 8000 - 1025, 8000 - 257, 8000 - 65, 7999]));
  test('only in what is not computed yet, and never for a few tokens', () =>
    expect(cuts(8000, { from: 7700 })).toEqual([8000 - 65, 7999]));
  test('nowhere in a short text', () => expect(cuts(20)).toEqual([]));
  test('at the beginning of a turn that is not much further back', () =>
    expect(cuts(1000, { startsTurn: (index) => [300, 600, 880].includes(index) })).toEqual([600, 880, 999]));
  test('not where the memory can be rewound', () =>
    expect(cuts(8000, { spare: 256 })).toEqual([8000 - 4097, 8000 - 1025, 8000 - 257, 7999]));
  test('in order, inside the text, and with chunks of 64 rows between, but for the last token', () => {
    const turn = fc.func(fc.boolean());
    fc.assert(
      fc.property(fc.nat(40_000), fc.nat(5000), fc.nat(600), turn, (from, more, spare, startsTurn) => {
        const end = from + more + 1;
        const places = [from, ...checkpointCuts({ from, end, spare, startsTurn })];
        for (const [index, place] of places.entries()) {
          const next = places[index + 1];
          if (next === undefined) continue;
          expect(next - place).toBeGreaterThanOrEqual(next === end - 1 ? 1 : 64);
        }
        expect(places.at(-1)).toBeLessThan(end);
      }),
    );
  });
});

describe('which checkpoint is given up', () => {
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
  test('so that a chat of many turns keeps both new and old ones', () => {
    const kept: number[] = [];
    let end = 0;
    for (let turn = 0; turn < 100; turn += 1) {
      end += 300;
      for (const cut of [end - 65, end - 1]) {
        kept.push(cut);
        if (kept.length > 8) kept.splice(leastUseful(kept, end), 1);
      }
    }
    // However far from the end a change lies, little more than four times as much is read again.
    const worst = Array.from({ length: end - 1 }, (_, index) => {
      const from = kept.findLast((place) => place <= index) ?? 0;
      return (end - from) / Math.max(64, end - index);
    });
    expect(Math.max(...worst)).toBeLessThan(6);
    expect(kept.at(-1)).toBe(end - 1);
  });
});
