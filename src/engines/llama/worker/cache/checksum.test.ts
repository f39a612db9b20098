import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { checksumOf, pieceBytes, plainChecksum } from './checksum.ts';

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);

test('checksumOf: is that of the checksums of all pieces, in order; no piece has bytes of two parts', async () => {
  const [long, short] = [filled(pieceBytes + 5, 1), filled(3, 2)];
  const pieces = [long.subarray(0, pieceBytes), long.subarray(pieceBytes), short];
  expect(await checksumOf([long, new Uint8Array(0), short])).toBe(
    sha256(Buffer.concat(pieces.map(sha256))).toString('hex'),
  );
});

test('checksumOf: differs if one byte or the order differs', async () => {
  const [a, b, changed] = [filled(9, 1), filled(9, 2), filled(9, 1)];
  changed[8] = 3;
  const sums = await Promise.all(
    [
      [a, b],
      [b, a],
      [changed, b],
    ].map(checksumOf),
  );
  expect(new Set(sums).size).toBe(3);
});

test('checksumOf: the event loop goes on meanwhile', async () => {
  let turns = 0;
  const count = () => {
    turns += 1;
    setImmediate(count).unref();
  };
  setImmediate(count).unref();
  await checksumOf([new Uint8Array(10 * pieceBytes)]);
  expect(turns).toBeGreaterThan(0);
});

test('plainChecksum: is that of the whole', async () => {
  const sum = plainChecksum();
  for (const piece of ['some', ' ', 'text']) await sum.add(Buffer.from(piece));
  expect(await sum.digest()).toBe(sha256(Buffer.from('some text')).toString('hex'));
});
