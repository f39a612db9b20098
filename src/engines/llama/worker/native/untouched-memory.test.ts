import { describe, expect, test } from 'vitest';
import { addedRanges, anonymousRanges, type Range, runsOf, withUntouchedGivenBack } from './untouched-memory.ts';

const mebibyte = 2 ** 20;
const range = (start: number, end: number): Range => ({ start: start * mebibyte, end: end * mebibyte });

describe('the ranges that may hold a cache', () => {
  test('are private, writable and without a file', () => {
    const maps = [
      '00400000-00500000 r-xp 00000000 fe:00 123                                /usr/bin/node',
      '00500000-00600000 rw-p 00100000 fe:00 123                                /usr/bin/node',
      '01000000-02000000 rw-p 00000000 00:00 0                                  [heap]',
      '7f0000000000-7f0040000000 rw-p 00000000 00:00 0 ',
      '7f0040000000-7f0041000000 rw-s 00000000 00:01 5                          /dev/zero (deleted)',
      '7f0041000000-7f0042000000 ---p 00000000 00:00 0 ',
      '7f0042000000-7f0043000000 rw-p 00000000 00:00 0                          [anon: glibc: malloc]',
      '7ffe00000000-7ffe00100000 rw-p 00000000 00:00 0                          [stack]',
      '',
    ].join('\n');
    expect(anonymousRanges(maps)).toEqual([
      { start: 0x7f0000000000, end: 0x7f0040000000 },
      { start: 0x7f0042000000, end: 0x7f0043000000 },
    ]);
  });

  test('are new, or the new part of one that has grown', () => {
    expect(addedRanges([], [range(10, 20)])).toEqual([range(10, 20)]);
    expect(addedRanges([range(10, 20)], [range(10, 20)])).toEqual([]);
    expect(addedRanges([range(10, 20)], [range(5, 25)])).toEqual([range(5, 10), range(20, 25)]);
    expect(addedRanges([range(10, 12), range(14, 16)], [range(10, 20)])).toEqual([range(12, 14), range(16, 20)]);
    expect(addedRanges([range(10, 20)], [range(12, 14), range(30, 40)])).toEqual([range(30, 40)]);
  });
});

describe('the runs of zeros', () => {
  const except = (...used: number[]) => {
    return (piece: Range) => !used.some((at) => at * mebibyte >= piece.start && at * mebibyte < piece.end);
  };

  test('leave out what holds anything, and what is short', () => {
    expect(runsOf([range(0, 20)], except())).toEqual([range(0, 20)]);
    expect(runsOf([range(0, 20)], except(0))).toEqual([range(1, 20)]);
    expect(runsOf([range(0, 20)], except(4, 7, 19))).toEqual([range(0, 4), range(8, 19)]);
    expect(runsOf([range(0, 20)], () => false)).toEqual([]);
  });

  test('are not looked for in small ranges', () => {
    const unexpected = () => {
      throw new Error('looked');
    };
    expect(runsOf([range(0, 3)], unexpected)).toEqual([]);
  });

  test('end with the range, also where that is no whole piece', () => {
    expect(runsOf([range(0, 8.5)], except())).toEqual([range(0, 8.5)]);
  });
});

test('only what was mapped meanwhile is given back', () => {
  const line = ({ start, end }: Range) => `${start.toString(16)}-${end.toString(16)} rw-p 00000000 00:00 0 \n`;
  const mapped = [range(100, 200)];
  const given: Range[] = [];
  const memory = {
    maps: () => mapped.map(line).join(''),
    holdsOnlyZeros: () => true,
    giveBack: (one: Range) => given.push(one),
    letGo: () => {},
  };
  const made = withUntouchedGivenBack(memory, () => {
    mapped.push(range(300, 350));
    return 'made';
  });
  expect(made).toBe('made');
  expect(given).toEqual([range(300, 350)]);
});

test('where memory cannot be seen, the work is simply done', () => {
  expect(withUntouchedGivenBack(undefined, () => 'made')).toBe('made');
});
