import { expect, test } from 'vitest';
import { copiedFiles, withCopiedLetGo } from './copied-weights.ts';
import type { Range } from './untouched-memory.ts';

const program = '00400000-00500000 r-xp 00000000 fe:00 123    /usr/bin/node\n';
const file = '7f0000000000-7f0010000000 r--s 00000000 fe:00 77    /models/a model.gguf\n';
const copies = '7f1000000000-7f100f000000 rw-p 00000000 00:00 0 \n';
const little = '7f1000000000-7f1001000000 rw-p 00000000 00:00 0 \n';
const mapped: Range = { start: 0x7f0000000000, end: 0x7f0010000000 };

test('a file whose weights were copied is let go', () => {
  expect(copiedFiles(program, program + file + copies)).toEqual([mapped]);
});

test('a file whose weights are read where they lie stays', () => {
  expect(copiedFiles(program, program + file + little)).toEqual([]);
});

test('a file that was mapped before is none of ours', () => {
  expect(copiedFiles(program + file, program + file + copies)).toEqual([]);
});

test('what was loaded comes through', async () => {
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
