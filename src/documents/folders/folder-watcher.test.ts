import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freshFolders } from '../../store/testing/folder.ts';
import { FolderWatcher } from './folder-watcher.ts';
import type { FolderFile, ScanReport } from './scan-folder.ts';

const freshFolder = freshFolders();

function world() {
  const path = realpathSync(freshFolder());
  const write = (name: string, text = name) => writeFileSync(join(path, name), text);
  const time = { now: 0 };
  /** When the next scan begins, and how often that was decided. */
  const next = { at: Number.POSITIVE_INFINITY, set: 0, passed: (): void => undefined, in: () => next.at - time.now };
  const hooks: { found?: () => void } = {};
  const seen: string[] = [];
  const results: (ScanReport | Error)[] = [];
  const watcher = new FolderWatcher({
    folder: { path, include: [], exclude: [], maxFileBytes: 1000 },
    onFiles: (files: readonly FolderFile[]) => {
      const paths = files.map((file) => file.path);
      seen.push(...paths);
      hooks.found?.();
    },
    onScanned: (result) => void results.push(result),
    startTimer: (milliseconds, passed) => {
      Object.assign(next, { at: time.now + milliseconds, set: next.set + 1, passed });
      const cancel = (): void => {
        if (next.passed === passed) next.at = Number.POSITIVE_INFINITY;
      };
      return { cancel, restart: () => undefined };
    },
    now: () => time.now,
  });
  const advance = async (milliseconds: number) => {
    time.now += milliseconds;
    if (next.at > time.now) return;
    next.at = Number.POSITIVE_INFINITY;
    next.passed();
    await watcher.idle();
  };
  /** A change, once the watcher knows of it. */
  const change = async (name: string, text?: string) => {
    const { set } = next;
    write(name, text);
    await expect.poll(() => next.set).toBeGreaterThan(set);
  };
  return { path, write, hooks, seen, results, watcher, next, advance, change };
}

test('FolderWatcher: several changes are one scan, once the folder is quiet', async () => {
  const { watcher, seen, results, advance, change } = world();
  await watcher.scan();
  await change('a.md');
  await advance(800);
  await change('b.md');
  await advance(800);
  expect(results).toHaveLength(1);
  await advance(1000);
  expect([results.length, seen.sort()]).toEqual([2, ['a.md', 'b.md']]);
  await watcher.stop();
});

test('FolderWatcher: a file that keeps changing does not put off the scan', async () => {
  const { watcher, write, seen, results, advance, change } = world();
  write('busy.log');
  await watcher.scan();
  write('a.md');
  for (let changes = 0; changes < 25 && results.length === 1; changes += 1) {
    await change('busy.log', `Line ${changes}.`);
    await advance(500);
  }
  expect(results).toHaveLength(2);
  expect(seen).toContain('a.md');
  await watcher.stop();
});

test('FolderWatcher: a change during a scan is scanned later, also during the first one', async () => {
  const { watcher, write, hooks, seen, results, next, advance } = world();
  write('a.md');
  hooks.found = () => {
    if (results.length < 2) write(`new-${results.length}.md`);
  };
  await watcher.scan();
  for (const scans of [2, 3]) {
    await expect.poll(() => next.in()).toBeLessThanOrEqual(1000);
    await advance(1000);
    expect(results).toHaveLength(scans);
  }
  expect(new Set(seen)).toEqual(new Set(['a.md', 'new-0.md', 'new-1.md']));
  await watcher.stop();
});

test('FolderWatcher: files that are put into a new folder while it is scanned are found', async () => {
  const { path, watcher, write, hooks, seen, next, advance } = world();
  mkdirSync(join(path, 'deep', 'er'), { recursive: true });
  write('deep/er/a.md');
  hooks.found = () => write('deep/er/b.md');
  await watcher.scan();
  await expect.poll(() => next.in()).toBeLessThanOrEqual(1000);
  hooks.found = () => undefined;
  await advance(1000);
  expect(seen).toContain('deep/er/b.md');
  await watcher.stop();
});
