import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { isSnapshotName } from '../../cache-folder.ts';
import type { Snapshot } from '../memory/snapshot.ts';
import { snapshot } from '../testing/snapshot.ts';
import { checksumOf, pieceBytes, piecewiseChecksum } from './checksum.ts';
import {
  bodyOf,
  DiskStore,
  type DiskStoreOptions,
  headerOf,
  isPartName,
  partName,
  readOutline,
  readSnapshot,
  snapshotName,
} from './disk-store.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-cache-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A folder that servers come to, with a clock that ticks at each look. */
function world() {
  const folder = mkdtempSync(join(root, 'folder-'));
  let clock = 1_000_000;
  const logged: string[] = [];
  const open = (more: Partial<DiskStoreOptions> = {}) =>
    DiskStore.open({
      folder,
      bytes: 10_000,
      fingerprint: 'a'.repeat(64),
      now: () => (clock += 10),
      processes: { own: 7, alive: (id) => id === 8 },
      log: (sentence) => logged.push(sentence),
      ...more,
    });
  return { folder, logged, open, names: () => readdirSync(folder).sort() };
}

const other = { fingerprint: 'b'.repeat(64) };
const firsts = (store: DiskStore) => store.entries().map(({ tokens }) => tokens[0]);
const idOf = (store: DiskStore, first: number) => store.entries().find(({ tokens }) => tokens[0] === first)?.id ?? '';
/** File name of this snapshot, in any folder. */
async function nameOf(one: Snapshot): Promise<string> {
  const { open, names } = world();
  await (await open()).write(one);
  return names()[0] as string;
}

test('DiskStore: a restart finds its snapshots, another model does not', async () => {
  const { open } = world();
  await (await open()).write(snapshot(5));
  const next = await open();
  expect(next.entries()).toMatchObject([{ tokens: { 0: 5 }, checkpoints: [1, 2] }]);
  const found = await next.read(idOf(next, 5));
  expect(found?.checkpoints.map(({ state }) => [...state])).toEqual(
    snapshot(5).checkpoints.map(({ state }) => [...state]),
  );
  expect(firsts(await open(other))).toEqual([]);
});

test('DiskStore: files are readable by the owner only', async () => {
  const { folder, open, names } = world();
  const inside = join(folder, 'made');
  await (await open({ folder: inside })).write(snapshot(5));
  const [name] = readdirSync(inside);
  expect(names()).toEqual(['made']);
  expect(statSync(inside).mode & 0o777).toBe(0o700);
  expect(statSync(join(inside, name as string)).mode & 0o777).toBe(0o600);
});

describe('DiskStore: limit', () => {
  test('snapshots of a newer version are neither counted nor removed nor replaced, and reported once', async () => {
    const { folder, open, names, logged } = world();
    await (await open()).write(snapshot(1, 400));
    const [name = ''] = names();
    const later = readFileSync(join(folder, name));
    later.write('PARLEYKV3');
    writeFileSync(join(folder, name), later);
    const store = await open({ bytes: 1500 });
    for (const first of [1, 2, 3, 4]) await store.write(snapshot(first, 400));
    expect(firsts(store)).toEqual([3, 4]);
    expect(readFileSync(join(folder, name))).toEqual(later);
    expect(store.health()).toMatchObject({ otherBytes: 0, failures: 0 });
    expect(logged).toEqual([expect.stringContaining('snapshots of a newer version of Parley are left alone')]);
  });

  test('counts snapshots of all models, and evicts the least recently used', async () => {
    const { open, names } = world();
    await (await open(other)).write(snapshot(1, 400));
    const store = await open({ bytes: 1500 });
    expect(store.health()).toMatchObject({ otherBytes: expect.any(Number) });
    expect(store.health().otherBytes).toBeGreaterThan(400);
    await store.write(snapshot(2, 400));
    expect(names()).toHaveLength(2);
    await store.write(snapshot(3, 400));
    expect(firsts(store)).toEqual([2, 3]);
    expect(names()).toHaveLength(2);
    expect(store.health().otherBytes).toBe(0);
  });

  test('applies at the start, also after a larger limit', async () => {
    const { open, names } = world();
    const before = await open();
    for (const first of [1, 2, 3]) await before.write(snapshot(first, 400));
    await before.read(idOf(before, 1));
    expect(firsts(await open({ bytes: 1300 })).sort()).toEqual([1, 3]);
    expect(names()).toHaveLength(2);
  });

  test('counts snapshots that another server has written', async () => {
    const { open, names } = world();
    const [here, there] = [await open({ bytes: 1300 }), await open({ bytes: 1300 })];
    await there.write(snapshot(1, 400));
    await there.write(snapshot(2, 400));
    await here.write(snapshot(3, 400));
    expect(names()).toHaveLength(2);
    expect(firsts(here).sort()).toEqual([2, 3]);
    expect(await there.read(idOf(there, 1))).toBeUndefined();
    expect(there.health().failures).toBe(0);
  });

  test('never deletes foreign files', async () => {
    const { folder, open, names } = world();
    mkdirSync(join(folder, 'x.parley-cache'));
    mkdirSync(join(folder, `${'0'.repeat(32)}.parley-cache`));
    writeFileSync(join(folder, 'mine.parley-cache'), 'x'.repeat(5000));
    const store = await open({ bytes: 600 });
    await store.write(snapshot(1));
    expect(firsts(store)).toEqual([1]);
    expect(names()).toHaveLength(4);
    expect(store.health()).toEqual({ otherBytes: 0, failures: 0, lastFailure: null });
  });

  test('reports a snapshot above the limit once', async () => {
    const { open, logged, names } = world();
    const store = await open({ bytes: 2 ** 20 });
    for (const first of [1, 2]) {
      await expect(store.write(snapshot(first, 2 ** 21))).rejects.toThrow('larger than the limit');
    }
    expect(names()).toEqual([]);
    expect(store.health().failures).toBe(2);
    expect(logged).toHaveLength(1);
    expect(logged[0]).toMatch(/^--diskcache .*A snapshot of 2\.0 MB is larger than the limit of 1\.0 MB$/);
  });
});

describe('DiskStore: failed write', () => {
  test.runIf(existsSync('/dev/full'))('leaves no file on a full disk, and is counted and reported', async () => {
    const { folder, open, logged, names } = world();
    const store = await open();
    for (const first of [1, 2]) {
      symlinkSync('/dev/full', join(folder, `${await nameOf(snapshot(first))}.7.part`));
      await expect(store.write(snapshot(first))).rejects.toThrow('ENOSPC');
    }
    expect(names()).toEqual([]);
    expect(store.entries()).toEqual([]);
    expect(store.health()).toMatchObject({ failures: 2, lastFailure: expect.stringContaining('no space left') });
    expect(logged).toHaveLength(1);
  });

  test('leaves no file if it cannot be renamed', async () => {
    const { folder, open, names } = world();
    const store = await open();
    const name = await nameOf(snapshot(1));
    mkdirSync(join(folder, name));
    await expect(store.write(snapshot(1))).rejects.toThrow();
    expect(names()).toEqual([name]);
    expect(store.health().failures).toBe(1);
  });
});

describe('DiskStore: deleted folder', () => {
  test('has no snapshots, and is created again by the next write', async () => {
    const { folder, open, names } = world();
    const store = await open();
    await store.write(snapshot(1));
    expect(firsts(store)).toEqual([1]);
    rmSync(folder, { recursive: true });
    expect(store.entries()).toEqual([]);
    await store.write(snapshot(2));
    expect(firsts(store)).toEqual([2]);
    expect(names()).toHaveLength(1);
    expect(store.health().failures).toBe(0);
  });

  test('is reported if it cannot be created', async () => {
    const { folder, open, logged } = world();
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const store = await open({ folder: file });
    expect(store.entries()).toEqual([]);
    await expect(store.write(snapshot(1))).rejects.toThrow();
    expect(logged[0]).toContain(`--diskcache ${file}: The folder cannot be used`);
  });
});

test('DiskStore.open: removes partial files of ended processes only', async () => {
  const { folder, open, names } = world();
  const name = `${'0'.repeat(32)}.parley-cache`;
  const left = (part: string, at: number) => {
    writeFileSync(join(folder, part), 'x');
    utimesSync(join(folder, part), at, at);
  };
  const day = 86_400;
  for (const process of [7, 8, 9]) left(`${name}.${process}.part`, 100 * day);
  left(`1${name.slice(1)}.8.part`, 98 * day);
  left(`${name}.part`, 100 * day);
  left('mine.part', 1);
  await open({ now: () => 100 * day * 1000 });
  expect(names()).toEqual([`${name}.8.part`, `${name}.part`, 'mine.part']);
});

test.each<[string, (path: string) => void, number]>([
  ['cut off', (path) => truncateSync(path, 200), 1],
  ['changed', (path) => appendFileSync(path, 'x'), 1],
  ['emptied', (path) => writeFileSync(path, ''), 1],
  ['deleted', (path) => rmSync(path), 0],
])('DiskStore.read: undefined without an error for a file that was %s', async (_, damage, failures) => {
  const { folder, open, names } = world();
  const store = await open();
  await store.write(snapshot(5));
  const id = idOf(store, 5);
  damage(join(folder, id));
  expect(await store.read(id)).toBeUndefined();
  expect(store.entries()).toEqual([]);
  expect(names()).toEqual([]);
  expect(store.health().failures).toBe(failures);
  expect(firsts(await open())).toEqual([]);
});

describe('DiskStore: a damaged file costs its snapshot, and never gives another one', () => {
  const original = snapshot(5, 40);
  const others = snapshot(6, 40);

  /** The snapshots that a new store reads with the damaged file in its folder. */
  async function readAfter(damage: (content: Buffer) => Buffer): Promise<(Snapshot | undefined)[]> {
    const { folder, open } = world();
    const first = await open();
    await first.write(original);
    await first.write(others);
    const path = join(folder, idOf(first, 5));
    writeFileSync(path, damage(readFileSync(path)));
    const store = await open();
    return Promise.all(store.entries().map(({ id }) => store.read(id)));
  }

  const plain = (one: Snapshot | undefined) =>
    one && [[...one.tokens], [...one.state], one.checkpoints.map(({ index, state }) => [index, ...state])];
  const expectHarmless = (read: (Snapshot | undefined)[]) => {
    const seen = read.filter((one) => one !== undefined).map(plain);
    expect(seen.filter((one) => one?.[0]?.[0] === 6)).toEqual([plain(others)]);
    expect(seen.filter((one) => one?.[0]?.[0] !== 6)).toEqual([]);
  };

  test('a flipped bit, in any part of it', async () => {
    const length = 9 + 64 + 64 + 8 + 12 + 16 + 40 + 5;
    for (let at = 0; at < length; at += 3) {
      const bit = 1 << (at % 8);
      expectHarmless(
        await readAfter((content) => {
          expect(content).toHaveLength(length);
          content[at] = (content[at] as number) ^ bit;
          return content;
        }),
      );
    }
  });

  const counts = 9 + 64 + 64;
  const withCounts = (tokens: number, checkpoints: number) => (content: Buffer) => {
    content.writeUInt32LE(tokens, counts);
    content.writeUInt32LE(checkpoints, counts + 4);
    return content;
  };
  test.each<[string, (content: Buffer) => Buffer]>([
    ['without its second half', (content) => content.subarray(0, content.length / 2)],
    ['with zeros at its end, as after a power failure', (content) => content.fill(0, content.length / 2)],
    ['with nothing but zeros', (content) => content.fill(0)],
    ['of version 0', (content) => content.fill('0', 8, 9)],
    ['of a later version', (content) => content.fill('9', 8, 9)],
    ['that claims no tokens', withCounts(0, 2)],
    ['that claims fewer tokens', withCounts(2, 2)],
    ['that claims more tokens', withCounts(5, 1)],
    ['that claims more checkpoints', withCounts(1, 3)],
    ['that claims more than it has', withCounts(0xffff_ffff, 0xffff_ffff)],
  ])('a file %s', async (_, damage) => expectHarmless(await readAfter(damage)));

  test('a header that claims more tokens than any context has is not believed, whatever the size of the file', async () => {
    const path = join(folder, 'claims.kv');
    const outline = { tokens: { length: 2 ** 30 } as Int32Array, checkpoints: [] };
    writeFileSync(path, headerOf(outline, fingerprint, '0'.repeat(64)));
    truncateSync(path, 2 ** 33);
    expect(await readOutline(path, fingerprint)).toBeUndefined();
  });
});

test('bodyOf: leaves out a checkpoint whose size does not fit into the table', () => {
  const huge = { length: 2 ** 32 + 7, byteLength: 2 ** 32 + 7 } as Uint8Array;
  const [first, second] = snapshot(5).checkpoints;
  const checkpoints = [first, second, { index: 3, state: huge }].filter((one) => one !== undefined);
  expect(bodyOf({ ...snapshot(5), checkpoints }).checkpoints).toEqual([1, 2]);
});

test('isSnapshotName, isPartName: match own file names only', () => {
  const name = snapshotName('ab'.repeat(32));
  expect([isSnapshotName(name), isPartName(partName(name, 7))]).toEqual([true, true]);
  expect([isSnapshotName(partName(name, 7)), isPartName(name)]).toEqual([false, false]);
  expect([isSnapshotName('x.parley-cache'), isPartName('film.part')]).toEqual([false, false]);
});

const folder = mkdtempSync(join(tmpdir(), 'parley-snapshot-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const fingerprint = 'f'.repeat(64);
let files = 0;

async function written(one: Snapshot): Promise<string> {
  const path = join(folder, `${files++}.kv`);
  const body = bodyOf(one);
  writeFileSync(path, Buffer.concat([headerOf(body, fingerprint, await checksumOf(body.parts)), ...body.parts]));
  return path;
}

const outlineOf = async (path: string) => {
  const outline = await readOutline(path, fingerprint);
  if (!outline) throw new Error('no outline');
  return outline;
};

test('readSnapshot: reads what was written', async () => {
  const path = await written(snapshot(5, 1000));
  const read = await readSnapshot(path, await outlineOf(path));
  expect(read?.tokens).toEqual(snapshot(5).tokens);
  expect(Buffer.from(read?.state ?? []).equals(snapshot(5, 1000).state)).toBe(true);
  expect(read?.checkpoints.map(({ index, state }) => [index, ...state])).toEqual([
    [1, 5, 1],
    [2, 5, 2, 2],
  ]);
});

test('readSnapshot: joins a state of several pieces in order', async () => {
  const state = Uint8Array.from({ length: 9 * 2 ** 20 + 7 }, (_, index) => index >> 12);
  const path = await written({ ...snapshot(1), state });
  const read = await readSnapshot(path, await outlineOf(path));
  expect(Buffer.from(read?.state ?? []).equals(state)).toBe(true);
});

test('readSnapshot: the last two of many checkpoints', async () => {
  const checkpoints = [1, 2, 3, 4].map((index) => ({ index, state: Uint8Array.of(index, index) }));
  const path = await written({ ...snapshot(1), checkpoints });
  const read = await readSnapshot(path, await outlineOf(path));
  expect(read?.checkpoints.map(({ index, state }) => [index, ...state])).toEqual([
    [3, 3, 3],
    [4, 4, 4],
  ]);
});

test('readSnapshot: a snapshot without checkpoints', async () => {
  const path = await written({ ...snapshot(1), checkpoints: [] });
  expect(await readSnapshot(path, await outlineOf(path))).toMatchObject({ checkpoints: [] });
});

describe('readSnapshot: undefined for a file that', () => {
  const damaged = async (harm: (path: string) => void) => {
    const path = await written(snapshot(5, 1000));
    const outline = await outlineOf(path);
    harm(path);
    return readSnapshot(path, outline);
  };

  test.each([0, 10, 140, 150, 180, 1000])('ends after %i bytes', async (length) => {
    expect(await damaged((path) => truncateSync(path, length))).toBeUndefined();
  });

  test('continues after its end', async () => {
    expect(await damaged((path) => appendFileSync(path, 'more'))).toBeUndefined();
  });

  test.each([80, 150, 175, 500, -1])('has a changed byte at %i', async (offset) => {
    const harm = (path: string) => {
      const content = readFileSync(path);
      const at = offset < 0 ? content.length + offset : offset;
      content[at] = (content[at] as number) ^ 1;
      writeFileSync(path, content);
    };
    expect(await damaged(harm)).toBeUndefined();
  });

  test('has invalid checkpoint sizes', async () => {
    const path = await written(snapshot(5, 10));
    const outline = await outlineOf(path);
    const content = readFileSync(path);
    const table = content.length - 10 - 5 - 16;
    content.writeUInt32LE(0xffff_ffff, table + 4);
    writeFileSync(path, content);
    expect(await readSnapshot(path, outline)).toBeUndefined();
  });
});

/** Zeros use no space on the disk (sparse file), and none in memory: all pieces share one buffer. */
describe('readSnapshot: more than two gigabytes', () => {
  const state = 2 ** 31 + 2 ** 20 + 3;
  const piece = Buffer.alloc(pieceBytes);
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
    const sum = piecewiseChecksum();
    await sum.add(tokens);
    for (let left = state; left > 0; left -= piece.length)
      await sum.add(piece.subarray(0, Math.min(left, piece.length)));
    const header = headerOf(outline, fingerprint, await sum.digest());
    writeFileSync(path, Buffer.concat([header, tokens]));
    truncateSync(path, header.length + tokens.length + state);
    return path;
  }

  test('is read in pieces, with its checksum', async () => {
    const path = await sparse();
    const outline = await outlineOf(path);
    const read = await readSnapshot(path, outline, allocate);
    expect(read?.state.length).toBe(state);
    expect(largest.reduce((sum, one) => sum + one, 0)).toBe(state);
    expect(Math.max(...largest)).toBeLessThanOrEqual(2 ** 23);
    expect(statSync(path).blocks).toBeLessThan(1000);
  }, 60_000);
});
