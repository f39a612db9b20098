import { expect, test, vi } from 'vitest';
import { boundedBytes } from './bounded-bytes.ts';

async function* pieces(...parts: readonly (Uint8Array | string)[]): AsyncGenerator<Uint8Array | string> {
  yield* parts;
}

const tooLarge = () => new Error('too large');

test('boundedBytes: joins bytes and texts up to the limit', async () => {
  const all = await boundedBytes(pieces('ab', Uint8Array.of(99)), 3, tooLarge);
  expect(all.toString()).toBe('abc');
});

test('boundedBytes: throws at the first byte beyond the limit, and reads no further', async () => {
  const source = pieces('ab', 'cd', 'ef');
  const next = vi.spyOn(source, 'next');
  await expect(boundedBytes(source, 3, tooLarge)).rejects.toThrow('too large');
  expect(next).toHaveBeenCalledTimes(2);
});
