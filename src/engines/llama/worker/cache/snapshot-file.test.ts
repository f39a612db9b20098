import { createHash } from 'node:crypto';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { Snapshot } from '../memory/snapshot.ts';
import { snapshot } from '../testing/snapshot.ts';
import { bodyOf, checksum, headerOf, readOutline, readSnapshot } from './snapshot-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-snapshot-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const fingerprint = 'f'.repeat(64);
let files = 0;

async function written(one: Snapshot): Promise<string> {
  const path = join(folder, `${files++}.kv`);
  const body = bodyOf(one);
  writeFileSync(path, Buffer.concat([headerOf(body, fingerprint, await checksum(body.parts)), ...body.parts]));
  return path;
}

const outlineOf = async (path: string) => {
  const outline = await readOutline(path, fingerprint);
  if (!outline) throw new Error('no outline');
  return outline;
};

test('what was written is read again', async () => {
  const path = await written(snapshot(5, 1000));
  const read = await readSnapshot(path, await outlineOf(path));
  expect(read?.tokens).toEqual(snapshot(5).tokens);
  expect(Buffer.from(read?.state ?? []).equals(snapshot(5, 1000).state)).toBe(true);
  expect(read?.checkpoints.map(({ index, state }) => [index, ...state])).toEqual([
    [1, 5, 1],
    [2, 5, 2, 2],
  ]);
});

test('a state of several pieces is put together in order', async () => {
  const state = Uint8Array.from({ length: 9 * 2 ** 20 + 7 }, (_, index) => index >> 12);
  const path = await written({ ...snapshot(1), state });
  const read = await readSnapshot(path, await outlineOf(path));
  expect(Buffer.from(read?.state ?? []).equals(state)).toBe(true);
});

test('of many checkpoints the last two are kept', async () => {
  const checkpoints = [1, 2, 3, 4].map((index) => ({ index, state: Uint8Array.of(index, index) }));
  const path = await written({ ...snapshot(1), checkpoints });
  const read = await readSnapshot(path, await outlineOf(path));
  expect(read?.checkpoints.map(({ index, state }) => [index, ...state])).toEqual([
    [3, 3, 3],
    [4, 4, 4],
  ]);
});

test('a snapshot without checkpoints is one too', async () => {
  const path = await written({ ...snapshot(1), checkpoints: [] });
  expect(await readSnapshot(path, await outlineOf(path))).toMatchObject({ checkpoints: [] });
});

describe('nothing is made of a file that', () => {
  const damaged = async (harm: (path: string) => void) => {
    const path = await written(snapshot(5, 1000));
    const outline = await outlineOf(path);
    harm(path);
    return readSnapshot(path, outline);
  };

  test.each([0, 10, 140, 150, 180, 1000])('ends after %i bytes', async (length) => {
    expect(await damaged((path) => truncateSync(path, length))).toBeUndefined();
  });

  test('goes on behind its end', async () => {
    expect(await damaged((path) => appendFileSync(path, 'more'))).toBeUndefined();
  });

  test.each([80, 150, 175, 500, -1])('has another byte at %i', async (place) => {
    const harm = (path: string) => {
      const content = readFileSync(path);
      const at = place < 0 ? content.length + place : place;
      content[at] = (content[at] as number) ^ 1;
      writeFileSync(path, content);
    };
    expect(await damaged(harm)).toBeUndefined();
  });

  test('claims sizes of checkpoints that it does not have', async () => {
    const path = await written(snapshot(5, 10));
    const outline = await outlineOf(path);
    const content = readFileSync(path);
    const table = content.length - 10 - 5 - 16;
    content.writeUInt32LE(0xffff_ffff, table + 4);
    writeFileSync(path, content);
    expect(await readSnapshot(path, outline)).toBeUndefined();
  });
});

/** Zeros take no room on the disk, and here none in memory either: each piece lands in the same place. */
describe('a snapshot of more than two gigabytes', () => {
  const state = 2 ** 31 + 2 ** 20 + 3;
  const piece = Buffer.alloc(2 ** 20);
  const largest: number[] = [];
  const allocate = (length: number): Uint8Array => {
    const scratch = new Uint8Array(Math.min(length, 2 ** 23));
    const subarray = (from: number, to: number) => {
      largest.push(to - from);
      return scratch.subarray(0, to - from);
    };
    return { length, byteLength: length, subarray } as unknown as Uint8Array;
  };

  async function sparse(): Promise<string> {
    const path = join(folder, 'sparse.kv');
    const outline = { tokens: Int32Array.of(1, 2, 3), checkpoints: [] };
    const tokens = Buffer.from(outline.tokens.buffer);
    const hash = createHash('sha256').update(tokens);
    for (let left = state; left > 0; left -= piece.length) hash.update(piece.subarray(0, Math.min(left, piece.length)));
    const header = headerOf(outline, fingerprint, hash.digest('hex'));
    writeFileSync(path, Buffer.concat([header, tokens]));
    truncateSync(path, header.length + tokens.length + state);
    return path;
  }

  test('is read in pieces, and its checksum with them', async () => {
    const path = await sparse();
    const outline = await outlineOf(path);
    const read = await readSnapshot(path, outline, allocate);
    expect(read?.state.length).toBe(state);
    expect(largest.reduce((sum, one) => sum + one, 0)).toBe(state);
    expect(Math.max(...largest)).toBeLessThanOrEqual(2 ** 23);
    expect(statSync(path).blocks).toBeLessThan(1000);
  }, 60_000);
});

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
