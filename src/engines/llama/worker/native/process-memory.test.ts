import koffi from 'koffi';
import { describe, expect, test } from 'vitest';
import { viewOf } from './native.ts';
import {
  addedRanges,
  anonymousRanges,
  copiedFiles,
  openProcessMemory,
  type Range,
  runsOf,
  withCopiedLetGo,
  withUntouchedGivenBack,
} from './process-memory.ts';
import type { Pointer } from './structs.ts';

const size = 256 * 2 ** 20;
const written = 100 * 2 ** 20;

test.runIf(process.platform === 'linux')(
  'withUntouchedGivenBack: released pages use no memory until they are written, and lose nothing',
  () => {
    const libc = koffi.load(null);
    const allocate = libc.func('void *malloc(size_t size)');
    const clear = libc.func('void *memset(void *start, int value, size_t size)');
    const release = libc.func('void free(void *start)');
    const before = process.memoryUsage.rss();
    let cleared = 0;
    const { pointer, bytes } = withUntouchedGivenBack(openProcessMemory(), () => {
      const pointer = allocate(size) as Pointer;
      clear(pointer, 0, size);
      const bytes = new Uint8Array(viewOf(pointer, size));
      bytes[written] = 7;
      cleared = process.memoryUsage.rss();
      return { pointer, bytes };
    });
    try {
      expect(cleared - before).toBeGreaterThan(size * 0.9);
      expect(process.memoryUsage.rss() - before).toBeLessThan(size * 0.1);
      expect(bytes[written]).toBe(7);
      expect(bytes[written - 2 ** 21]).toBe(0);
      expect(bytes[size - 1]).toBe(0);
      bytes[size - 1] = 9;
      expect(bytes[size - 1]).toBe(9);
    } finally {
      release(pointer);
    }
  },
);

const mebibyte = 2 ** 20;
const range = (start: number, end: number): Range => ({ start: start * mebibyte, end: end * mebibyte });

describe('address ranges of a cache', () => {
  test('anonymousRanges: private, writable and without a file', () => {
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

  test('addedRanges: new ones, or the new part of one that has grown', () => {
    expect(addedRanges([], [range(10, 20)])).toEqual([range(10, 20)]);
    expect(addedRanges([range(10, 20)], [range(10, 20)])).toEqual([]);
    expect(addedRanges([range(10, 20)], [range(5, 25)])).toEqual([range(5, 10), range(20, 25)]);
    expect(addedRanges([range(10, 12), range(14, 16)], [range(10, 20)])).toEqual([range(12, 14), range(16, 20)]);
    expect(addedRanges([range(10, 20)], [range(12, 14), range(30, 40)])).toEqual([range(30, 40)]);
  });
});

describe('runsOf', () => {
  const except = (...used: number[]) => {
    return (piece: Range) => !used.some((at) => at * mebibyte >= piece.start && at * mebibyte < piece.end);
  };

  test('omits runs with data and short runs', () => {
    expect(runsOf([range(0, 20)], except())).toEqual([range(0, 20)]);
    expect(runsOf([range(0, 20)], except(0))).toEqual([range(1, 20)]);
    expect(runsOf([range(0, 20)], except(4, 7, 19))).toEqual([range(0, 4), range(8, 19)]);
    expect(runsOf([range(0, 20)], () => false)).toEqual([]);
  });

  test('does not search small ranges', () => {
    const unexpected = () => {
      throw new Error('looked');
    };
    expect(runsOf([range(0, 3)], unexpected)).toEqual([]);
  });

  test('ends with the range, also within a block', () => {
    expect(runsOf([range(0, 8.5)], except())).toEqual([range(0, 8.5)]);
  });
});

test('withUntouchedGivenBack: releases only what was mapped meanwhile', () => {
  const line = ({ start, end }: Range) => `${start.toString(16)}-${end.toString(16)} rw-p 00000000 00:00 0 \n`;
  const mapped = [range(100, 200)];
  const returned: Range[] = [];
  const memory = {
    maps: () => mapped.map(line).join(''),
    holdsOnlyZeros: () => true,
    giveBack: (one: Range) => returned.push(one),
    letGo: () => {},
  };
  const made = withUntouchedGivenBack(memory, () => {
    mapped.push(range(300, 350));
    return 'made';
  });
  expect(made).toBe('made');
  expect(returned).toEqual([range(300, 350)]);
});

test('withUntouchedGivenBack: only calls the function if memory cannot be inspected', () => {
  expect(withUntouchedGivenBack(undefined, () => 'made')).toBe('made');
});

const program = '00400000-00500000 r-xp 00000000 fe:00 123    /usr/bin/node\n';
const file = '7f0000000000-7f0010000000 r--s 00000000 fe:00 77    /models/a model.gguf\n';
const copies = '7f1000000000-7f100f000000 rw-p 00000000 00:00 0 \n';
const smallMapping = '7f1000000000-7f1001000000 rw-p 00000000 00:00 0 \n';
const mapped: Range = { start: 0x7f0000000000, end: 0x7f0010000000 };

test('copiedFiles: a file whose weights were copied', () => {
  expect(copiedFiles(program, program + file + copies)).toEqual([mapped]);
});

test('copiedFiles: not a file whose weights are used in place', () => {
  expect(copiedFiles(program, program + file + smallMapping)).toEqual([]);
});

test('copiedFiles: not a file that was mapped before', () => {
  expect(copiedFiles(program + file, program + file + copies)).toEqual([]);
});

test('withCopiedLetGo: returns the loaded model', async () => {
  const states = [program, program + file + copies];
  const gone: Range[] = [];
  const memory = {
    maps: () => states.shift() ?? '',
    holdsOnlyZeros: () => false,
    giveBack: () => {},
    letGo: (range: Range) => gone.push(range),
  };
  expect(await withCopiedLetGo(memory, async () => 'model')).toBe('model');
  expect(gone).toEqual([mapped]);
  expect(await withCopiedLetGo(undefined, async () => 'model')).toBe('model');
});
