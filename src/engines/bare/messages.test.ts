import { expect, test } from 'vitest';
import { FrameReader, frame } from './messages.ts';

test('FrameReader: finds messages and their bytes, however the chunks are cut', () => {
  const all = Buffer.concat([frame({ type: 'ü' }, Uint8Array.of(1, 2)), frame({ type: 'b' })]);
  for (let size = 1; size <= all.length; size += 1) {
    const found: { message: unknown; bytes: number[] }[] = [];
    const reader = new FrameReader((message, bytes) => found.push({ message, bytes: [...bytes] }));
    for (let start = 0; start < all.length; start += size) reader.push(all.subarray(start, start + size));
    expect(found).toEqual([
      { message: { type: 'ü' }, bytes: [1, 2] },
      { message: { type: 'b' }, bytes: [] },
    ]);
  }
});
