import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { zipOf } from '../../../src/documents/testing/zip.ts';
import { Unreadable } from './unreadable.ts';
import { checksum, isZip, readZip } from './zip.ts';

describe('readZip', () => {
  test.each([true, false])('reads names and contents, stored: %s', async (stored) => {
    const archive = await zipOf(
      { 'card.json': '{"é":1}', 'assets/icon/a.png': Uint8Array.of(1, 2, 3), 'empty/': '' },
      { stored },
    );
    expect(isZip(archive)).toBe(true);
    const entries = await readZip(archive);
    expect(entries.map(({ name, size }) => [name, size])).toEqual([
      ['card.json', 8],
      ['assets/icon/a.png', 3],
    ]);
    expect(await entries[0]?.text()).toBe('{"é":1}');
    expect(await entries[1]?.bytes()).toEqual(Uint8Array.of(1, 2, 3));
  });

  test('reads an archive that follows other bytes', async () => {
    const archive = Uint8Array.of(0xff, 0xd8, 0xff, ...(await zipOf({ 'card.json': '{}' })));
    expect(await (await readZip(archive))[0]?.text()).toBe('{}');
  });

  test('rejects an entry beyond the limit, also if the archive states a smaller size', async () => {
    const zeros = new Uint8Array(100_000);
    await expect((await readZip(await zipOf({ a: zeros })))[0]?.bytes(1000)).rejects.toThrow(
      'a in the zip archive is too large.',
    );
    await expect((await readZip(await zipOf({ a: zeros }, { claim: 10 })))[0]?.bytes(1000)).rejects.toThrow(
      'too large',
    );
    await expect((await readZip(await zipOf({ a: zeros }, { claim: 10 })))[0]?.bytes()).rejects.toThrow('damaged');
  });

  test('rejects other bytes with a readable error', async () => {
    await expect(readZip(new Uint8Array(100))).rejects.toThrow(Unreadable);
    await expect(readZip(new Uint8Array())).rejects.toThrow(Unreadable);
  });

  test('returns the contents or throws a readable error for any damage', async () => {
    const archive = await zipOf({ a: 'some text, some text', b: 'more' });
    await fc.assert(
      fc.asyncProperty(fc.nat(archive.length - 1), fc.nat(255), async (at, byte) => {
        try {
          for (const entry of await readZip(archive.with(at, byte))) await entry.bytes(1000);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(Unreadable);
        }
      }),
      { numRuns: 300 },
    );
  });
});

test('checksum: CRC-32 of the standard check value', () => {
  expect(checksum(new TextEncoder().encode('123456789'))).toBe(0xcbf43926);
});
