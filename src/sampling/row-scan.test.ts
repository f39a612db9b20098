import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RowScan, rowScanFor } from './row-scan.ts';

const float = fc.oneof(fc.float({ noNaN: true }), fc.integer({ min: -3, max: 3 }), fc.constant(Number.NaN));
const row = fc.array(float, { minLength: 1, maxLength: 200 }).map((values) => Float32Array.from(values));
const floor = fc.oneof(fc.float({ noNaN: true, noDefaultInfinity: true }), fc.integer({ min: -3, max: 3 }));

function scanOf(logits: Float32Array): RowScan {
  const scan = rowScanFor(logits.length);
  scan.load(logits);
  return scan;
}

test('RowScan.highest: the highest logit of a row of any length, ignoring NaN', () => {
  fc.assert(
    fc.property(row, (logits) => {
      const numbers = [...logits].filter((logit) => !Number.isNaN(logit));
      expect(scanOf(logits).highest() + 0).toBe(Math.max(...numbers) + 0);
    }),
  );
});

test('RowScan.reaching: the logits at or above a floor, with their ids, in order', () => {
  fc.assert(
    fc.property(row, floor, (logits, lowest) => {
      const { ids, logits: found } = scanOf(logits).reaching(lowest);
      const expected = [...logits.keys()].filter((id) => (logits[id] as number) >= Math.fround(lowest));
      expect([...ids]).toEqual(expected);
      expect([...found]).toEqual(expected.map((id) => logits[id]));
    }),
  );
});

test('RowScan.reaching: all logits of a large vocabulary if all reach the floor', () => {
  const logits = new Float32Array(152_001).fill(1);
  const { ids } = scanOf(logits).reaching(1);
  expect([ids.length, ids.at(0), ids.at(-1)]).toEqual([152_001, 0, 152_000]);
});

test('RowScan: a row of NaN has -Infinity as its highest, and no logit that reaches a floor', () => {
  const scan = scanOf(new Float32Array(40).fill(Number.NaN));
  expect([scan.highest(), scan.reaching(-1e38).ids.length]).toEqual([-Infinity, 0]);
});

test('RowScan.load: replaces the previous row', () => {
  const scan = new RowScan(3);
  scan.load(Float32Array.of(9, 8, 7));
  scan.load(Float32Array.of(1, 3, 2));
  expect([scan.highest(), [...scan.reaching(2).ids]]).toEqual([3, [1, 2]]);
});
