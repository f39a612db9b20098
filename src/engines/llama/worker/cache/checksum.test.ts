import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { checksum } from './checksum.ts';

test('parts have the checksum of the whole', async () => {
  const whole = Buffer.alloc(10_000_000, 'some text');
  const parts = [whole.subarray(0, 7), whole.subarray(7, 9_000_000), new Uint8Array(0), whole.subarray(9_000_000)];
  expect(await checksum(parts)).toBe(createHash('sha256').update(whole).digest('hex'));
});

test('others get their turn in between', async () => {
  let turns = 0;
  const count = () => {
    turns += 1;
    setImmediate(count).unref();
  };
  setImmediate(count).unref();
  await checksum([new Uint8Array(20_000_000)]);
  expect(turns).toBeGreaterThan(3);
});
