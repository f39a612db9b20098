import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { SavedDownload } from '../core/model-downloads.ts';
import { DownloadError } from './download.ts';
import { Downloads, type DownloadsOptions } from './downloads.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-downloads-'));
afterAll(() => rmSync(root, { recursive: true }));

type Running = Parameters<DownloadsOptions['pull']>[1];

/** Downloads whose progress and end the test decides. `saved` is what the next run reads. */
function world(saved: { list: readonly SavedDownload[] } = { list: [] }, resumes = true) {
  const running = new Map<
    string,
    Running & { finish: () => void; fail: (reason: string, temporary?: boolean) => void }
  >();
  const clock = { now: 0 };
  const pauses: { readonly milliseconds: number; readonly end: () => void }[] = [];
  const downloads = new Downloads({
    nameOf: (text) => (text === 'nonsense' ? undefined : text.replace(/^hf:/, '')),
    pull: (model, parts) =>
      new Promise((resolve, reject) => {
        const finish = () => resolve({ path: `/models/${model}`, projector: undefined });
        running.set(model, {
          ...parts,
          finish,
          fail: (reason, temporary) => reject(new DownloadError(reason, temporary)),
        });
        parts.signal.addEventListener('abort', () => reject(parts.signal.reason));
      }),
    saved: {
      read: async () => saved.list,
      write: async (list) => {
        saved.list = structuredClone(list);
      },
    },
    resumes,
    pause: (milliseconds, signal) =>
      new Promise((resolve, reject) => {
        pauses.push({ milliseconds, end: resolve });
        signal.addEventListener('abort', reject);
      }),
    now: () => clock.now,
  });
  const states = async () => Object.fromEntries((await downloads.list()).map(({ model, state }) => [model, state]));
  const runningOf = async (model: string) => {
    await expect.poll(() => running.get(model)).toBeDefined();
    return running.get(model) as NonNullable<ReturnType<(typeof running)['get']>>;
  };
  return { downloads, clock, pauses, saved, states, running, runningOf };
}

test('downloads: one runs at a time, the next one starts when it is over', async () => {
  const { downloads, states, runningOf } = world();
  expect(await downloads.start('hf:a')).toBe('a');
  await downloads.start('b');
  expect(await states()).toEqual({ a: 'running', b: 'waiting' });
  (await runningOf('a')).finish();
  await runningOf('b');
  expect(await downloads.list()).toMatchObject([
    { model: 'a', state: 'done', path: '/models/a' },
    { model: 'b', state: 'running' },
  ]);
});

test('downloads: what is no model is not started', async () => {
  const { downloads } = world();
  expect(await downloads.start('nonsense')).toBeUndefined();
  expect(await downloads.list()).toEqual([]);
});

test('downloads: bytes and the speed of the last seconds', async () => {
  const { downloads, clock, runningOf } = world();
  await downloads.start('a');
  const { progress } = await runningOf('a');
  // What is there already does not count as speed.
  for (const [at, done] of [
    [0, 5000],
    [1000, 6000],
    [2000, 7000],
  ] as const) {
    clock.now = at;
    progress(done, 9000);
  }
  expect(await downloads.list()).toMatchObject([{ doneBytes: 7000, totalBytes: 9000, bytesPerSecond: 1000 }]);
  clock.now = 60_000;
  expect(await downloads.list()).toMatchObject([{ bytesPerSecond: 0 }]);
});

test('downloads: a stopped one keeps its progress, and is resumed by a start', async () => {
  const { downloads, states, running, runningOf } = world();
  await downloads.start('a');
  (await runningOf('a')).progress(10, 20);
  expect(await downloads.stop('a')).toBe(true);
  expect(await downloads.list()).toMatchObject([
    { state: 'stopped', doneBytes: 10, totalBytes: 20, reason: undefined },
  ]);
  running.clear();
  await downloads.start('a');
  await runningOf('a');
  expect(await states()).toEqual({ a: 'running' });
  expect(await downloads.stop('b')).toBe(false);
});

test('downloads: a failure has its reason, and does not hold up the next one', async () => {
  const { downloads, runningOf } = world();
  await downloads.start('a');
  await downloads.start('b');
  (await runningOf('a')).fail('the disk is full');
  await runningOf('b');
  expect(await downloads.list()).toMatchObject([{ state: 'failed', reason: 'the disk is full' }, { state: 'running' }]);
});

test('downloads: remove deletes the files that it has begun, and the folder that they were alone in', async () => {
  const { downloads, states, runningOf } = world();
  const folder = join(root, 'owner--name');
  mkdirSync(folder);
  await downloads.start('a');
  const { begins } = await runningOf('a');
  for (const name of ['one.gguf', 'two.gguf']) await begins(join(folder, name));
  for (const name of ['one.gguf', 'two.gguf.part', 'two.gguf.part.etag']) writeFileSync(join(folder, name), 'x');
  expect(await downloads.remove('a')).toBe(true);
  expect(existsSync(folder)).toBe(false);
  expect(await states()).toEqual({});
  expect(await downloads.remove('a')).toBe(false);
});

test('downloads: remove leaves the files of a finished download', async () => {
  const { downloads, states, runningOf } = world();
  const file = join(root, 'whole.gguf');
  await downloads.start('a');
  const { begins, finish } = await runningOf('a');
  await begins(file);
  writeFileSync(file, 'x');
  finish();
  await expect.poll(states).toEqual({ a: 'done' });
  await downloads.remove('a');
  expect(existsSync(file)).toBe(true);
});

test('downloads: after a restart those that ran or waited go on, the others are listed', async () => {
  const first = world();
  for (const model of ['a', 'b', 'c', 'd']) await first.downloads.start(model);
  await first.downloads.stop('c');
  (await first.runningOf('a')).progress(10, 20);
  (await first.runningOf('a')).fail('gone');
  await (await first.runningOf('b')).begins('/models/b.gguf');
  expect(await first.states()).toEqual({ a: 'failed', b: 'running', c: 'stopped', d: 'waiting' });
  // The first server was killed: the next one has what it saved.
  const next = world({ list: first.saved.list });
  await next.downloads.restore();
  await next.runningOf('b');
  expect(await next.states()).toEqual({ a: 'failed', b: 'running', c: 'stopped', d: 'waiting' });
  expect(await next.downloads.list()).toMatchObject([{ doneBytes: 10, totalBytes: 20, reason: 'gone' }, {}, {}, {}]);
  const offline = world({ list: first.saved.list }, false);
  await offline.downloads.restore();
  expect(await offline.states()).toEqual({ a: 'failed', b: 'stopped', c: 'stopped', d: 'stopped' });
});

async function reports(download: AsyncIterable<unknown>): Promise<unknown[]> {
  const seen = [];
  for await (const report of download) seen.push(report);
  return seen;
}

test('downloads: followers of the same model share one download, and it stops when the last one has gone', async () => {
  const { downloads, states, running, runningOf } = world();
  const [one, other] = [new AbortController(), new AbortController()];
  const [first, second] = [reports(downloads.follow('a', one.signal)), reports(downloads.follow('a', other.signal))];
  const { signal, begins } = await runningOf('a');
  await begins('/models/a.gguf');
  one.abort(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  expect([running.size, signal.aborted]).toEqual([1, false]);
  other.abort(new Error('gone too'));
  await expect(second).rejects.toThrow('gone too');
  expect(signal.aborted).toBe(true);
  expect(await states()).toEqual({ a: 'stopped' });
});

test('downloads: a follower joins what the page has started, which goes on without it', async () => {
  const { downloads, states, running, runningOf } = world();
  await downloads.start('a');
  const leaving = new AbortController();
  const followed = reports(downloads.follow('a', leaving.signal));
  await runningOf('a');
  leaving.abort(new Error('gone'));
  await expect(followed).rejects.toThrow('gone');
  expect(await states()).toEqual({ a: 'running' });
  expect(running.size).toBe(1);
});

test('downloads: a follower runs beside the queue, gets the progress, and the failure', async () => {
  const { downloads, clock, runningOf, states } = world();
  await downloads.start('a');
  const followed = reports(downloads.follow('b', new AbortController().signal));
  const { progress, finish } = await runningOf('b');
  clock.now = 1000;
  progress(5, 10);
  progress(10, 10);
  finish();
  expect((await followed).at(-1)).toEqual({ done: 10, total: 10 });
  const failing = reports(downloads.follow('c', new AbortController().signal));
  (await runningOf('c')).fail('there is no such file');
  await expect(failing).rejects.toThrow('there is no such file');
  // A wrong name of a client is not listed.
  expect(await states()).toEqual({ a: 'running', b: 'done' });
});

test('downloads: a follower is told that it was stopped', async () => {
  const { downloads, runningOf } = world();
  const followed = reports(downloads.follow('a', new AbortController().signal));
  await runningOf('a');
  await downloads.stop('a');
  await expect(followed).rejects.toThrow('the download was stopped');
});

test('downloads: without a network it is tried again by itself, and others run meanwhile', async () => {
  const { downloads, states, running, runningOf, pauses } = world();
  await downloads.start('a');
  (await runningOf('a')).fail('cannot reach hub.example', true);
  await expect.poll(() => pauses.length).toBe(1);
  const waiting = { state: 'waiting', reason: 'cannot reach hub.example It is tried again by itself.' };
  expect(await downloads.list()).toMatchObject([waiting]);
  await downloads.start('b');
  await runningOf('b');
  expect(await states()).toEqual({ a: 'waiting', b: 'running' });
  running.clear();
  pauses[0]?.end();
  (await runningOf('a')).fail('cannot reach hub.example', true);
  await expect.poll(() => pauses.map(({ milliseconds }) => milliseconds)).toEqual([10_000, 20_000]);
  // A start by hand ends the pause, a stop as well.
  running.clear();
  await downloads.start('a');
  (await runningOf('a')).fail('cannot reach hub.example', true);
  await expect.poll(() => pauses.length).toBe(3);
  await downloads.stop('a');
  expect(await states()).toEqual({ a: 'stopped', b: 'running' });
});

test('downloads: a client gets the failure of the network at once', async () => {
  const { downloads, runningOf } = world();
  const followed = reports(downloads.follow('a', new AbortController().signal));
  (await runningOf('a')).fail('cannot reach hub.example', true);
  await expect(followed).rejects.toThrow('cannot reach hub.example');
});
