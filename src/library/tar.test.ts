import { expect, test } from 'vitest';
import { readTar } from './tar.ts';
import { tarFile, tarHead } from './testing/archive.ts';

const end = Buffer.alloc(1024);

/** Names and contents, from an archive whose bytes arrive in chunks of this size. */
async function read(bytes: Buffer, chunkBytes = 700): Promise<Record<string, string>> {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
  const files: Record<string, string> = {};
  for await (const { name, content } of readTar(chunks())) {
    const pieces: Uint8Array[] = [];
    for await (const piece of content) pieces.push(piece);
    files[name] = Buffer.concat(pieces).toString();
  }
  return files;
}

test('readTar: reads files with short and long names, and skips others', async () => {
  const long = `package/${'x'.repeat(150)}`;
  const pax = ` path=${long}2\n`;
  const archive = Buffer.concat([
    tarFile('package/a', Buffer.from('one')),
    tarFile('package/folder', Buffer.alloc(0), '5'),
    tarFile('././@LongLink', Buffer.from(`${long}\0`), 'L'),
    tarFile('cut', Buffer.from('two')),
    tarFile('pax', Buffer.from(`${pax.length + 3}${pax}`), 'x'),
    tarFile('cut', Buffer.from('three')),
    end,
  ]);
  expect(await read(archive)).toEqual({ 'package/a': 'one', [long]: 'two', [`${long}2`]: 'three' });
});

test.each(['L', 'x'])('readTar: rejects a header %s that declares gigabytes, without allocating them', async (type) => {
  const before = process.memoryUsage().arrayBuffers;
  await expect(read(tarHead('name', 2 ** 32, type))).rejects.toThrow('the archive is damaged');
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 28);
});

const whole = Buffer.concat([tarFile('a', Buffer.alloc(2000, 'x')), tarFile('b', Buffer.from('y')), end]);

test.each([100, 511, 1000, 2600])('readTar: rejects an archive that ends after %i bytes', async (bytes) => {
  await expect(read(whole.subarray(0, bytes))).rejects.toThrow(/the archive (is damaged|ends in the middle of a file)/);
});

test.each([0, 124, 150, 156, 345])('readTar: rejects a header with a changed byte %i', async (at) => {
  const changed = Buffer.from(whole);
  changed[at] = (changed[at] ?? 0) ^ 0x01;
  await expect(read(changed)).rejects.toThrow('the archive is damaged');
});
