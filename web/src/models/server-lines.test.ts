import { expect, test } from 'vitest';
import { mergedLines, type ServerLine, withoutTime } from './server-lines.ts';

const lines = (...numbers: readonly number[]): ServerLine[] =>
  numbers.map((number) => ({ number, time: '2026-01-01T00:00:00.000Z', text: `line ${number}` }));

test('mergedLines: new lines follow the known ones', () => {
  expect(mergedLines(lines(1, 2), lines(3))).toEqual(lines(1, 2, 3));
  const known = lines(1, 2);
  expect(mergedLines(known, [])).toBe(known);
});

test('mergedLines: a server that was started again begins anew', () => {
  expect(mergedLines(lines(7, 8), lines(1, 2))).toEqual(lines(1, 2));
});

test('mergedLines: 500 lines at most', () => {
  const many = lines(...Array.from({ length: 500 }, (_, index) => index + 1));
  expect(mergedLines(many, lines(501)).map(({ number }) => number)).toEqual(
    Array.from({ length: 500 }, (_, index) => index + 2),
  );
});

test('withoutTime: only the time at the start is left out', () => {
  expect(withoutTime('[01:53:11] Refused POST /v1/x')).toBe('Refused POST /v1/x');
  expect(withoutTime('Loaded [01:53:11] x')).toBe('Loaded [01:53:11] x');
});
