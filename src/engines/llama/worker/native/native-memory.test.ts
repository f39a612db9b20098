import koffi from 'koffi';
import { expect, test } from 'vitest';
import { viewOf } from './native.ts';
import { openProcessMemory } from './native-memory.ts';
import type { Pointer } from './structs.ts';
import { withUntouchedGivenBack } from './untouched-memory.ts';

const size = 256 * 2 ** 20;
const written = 100 * 2 ** 20;

test.runIf(process.platform === 'linux')('cleared memory takes no room until it is written, and loses nothing', () => {
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
});
