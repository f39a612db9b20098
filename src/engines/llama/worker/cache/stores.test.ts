import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { SnapshotStore } from '../memory/snapshot.ts';
import { snapshot } from '../testing/snapshot.ts';
import { DiskStore } from './disk-store.ts';
import { MemoryStore } from './memory-store.ts';

const folders: string[] = [];
const folder = () => {
  const made = mkdtempSync(join(tmpdir(), 'parley-cache-'));
  folders.push(made);
  return made;
};
afterAll(() => {
  for (const made of folders) rmSync(made, { recursive: true, force: true });
});

const fingerprint = 'a'.repeat(64);
let clock = 0;
const now = () => ++clock;
const processes = { own: 1, alive: () => true };
const disk = (folder: string, bytes: number) =>
  DiskStore.open({ folder, bytes, fingerprint, now, processes, log: () => undefined });
const firsts = (store: SnapshotStore) => store.entries().map(({ tokens }) => tokens[0]);

describe.each<[string, (limit: number) => Promise<SnapshotStore>]>([
  ['in memory', async (bytes) => new MemoryStore({ limits: () => ({ count: 99, bytes }), now })],
  ['on disk', (bytes) => disk(folder(), bytes)],
])('SnapshotStore %s', (_, make) => {
  test('returns what was stored', async () => {
    const store = await make(10_000);
    await store.write(snapshot(7));
    const [entry] = store.entries();
    const found = await store.read(entry?.id ?? '');
    expect([...(found?.tokens ?? [])]).toEqual([7, 2, 3]);
    expect([...(found?.state ?? [])]).toEqual([...snapshot(7).state]);
    expect(found?.checkpoints.map(({ index, state }) => [index, ...state])).toEqual([
      [1, 7, 1],
      [2, 7, 2, 2],
    ]);
    expect(entry?.checkpoints).toEqual([1, 2]);
    expect(await store.read('nothing')).toBeUndefined();
  });

  test('evicts the least recently used beyond its limit', async () => {
    const store = await make(600);
    for (const first of [1, 2]) await store.write(snapshot(first));
    const old = store.entries().find(({ tokens }) => tokens[0] === 1);
    await store.read(old?.id ?? '');
    await store.write(snapshot(3, 400));
    expect(firsts(store)).toContain(3);
    expect(firsts(store)).not.toContain(2);
  });

  test('a snapshot above the limit evicts nothing else', async () => {
    const store = await make(600);
    await store.write(snapshot(1));
    await store.write(snapshot(2, 5000)).catch(() => undefined);
    expect(firsts(store)).toEqual([1]);
  });
});
