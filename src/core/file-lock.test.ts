import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { freshFolders } from '../store/testing/folder.ts';
import { bundled, runScript } from '../store/testing/processes.ts';
import { withFileLock } from './file-lock.ts';

const freshFolder = freshFolders();

test('withFileLock: runs work for one path one after the other, and leaves nothing behind', async () => {
  const folder = freshFolder();
  const path = join(folder, 'data');
  let running = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
  };
  await Promise.all(Array.from({ length: 20 }, () => withFileLock(path, work)));
  expect(most).toBe(1);
  expect(readdirSync(folder)).toEqual([]);
});

test('withFileLock: is released when the work fails', async () => {
  const path = join(freshFolder(), 'data');
  await expect(withFileLock(path, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await withFileLock(path, async () => 'next')).toBe('next');
});

test('withFileLock: rejects with the error of the system if the folder is missing', async () => {
  const path = join(freshFolder(), 'missing', 'data');
  await expect(withFileLock(path, async () => undefined)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('withFileLock: counts of several processes add up', async () => {
  const folder = freshFolder();
  const module = await bundled(new URL('./file-lock.ts', import.meta.url), folder);
  const path = join(folder, 'count');
  writeFileSync(path, '0');
  const script = `
    import { readFileSync, writeFileSync } from 'node:fs';
    import { withFileLock } from ${JSON.stringify(pathToFileURL(module).href)};
    const path = ${JSON.stringify(path)};
    for (let turn = 0; turn < 50; turn++)
      await withFileLock(path, async () => {
        const count = Number(readFileSync(path, 'utf8'));
        await new Promise((resolve) => setImmediate(resolve));
        writeFileSync(path, String(count + 1));
      });`;
  const runs = await Promise.all([1, 2, 3].map(() => runScript(script)));
  expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(readFileSync(path, 'utf8')).toBe('150');
  expect(readdirSync(folder).sort()).toEqual([basename(module), 'count']);
});

/** A process that is killed while it holds the lock. */
async function killedHolder(path: string, folder: string): Promise<void> {
  const module = await bundled(new URL('./file-lock.ts', import.meta.url), folder);
  const script = `
    import { withFileLock } from ${JSON.stringify(pathToFileURL(module).href)};
    await withFileLock(${JSON.stringify(path)}, async () => process.kill(process.pid, 'SIGKILL'));`;
  await runScript(script);
}

test('withFileLock: takes over the lock of a killed process at once, also if several wait for it', async () => {
  const folder = freshFolder();
  const path = join(folder, 'data');
  await killedHolder(path, folder);
  expect(readdirSync(`${path}.lock`)).toHaveLength(1);
  let running = 0;
  const work = async () => {
    expect(++running).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
  };
  await Promise.all([1, 2, 3, 4].map(() => withFileLock(path, work)));
  expect(existsSync(`${path}.lock`)).toBe(false);
});

/** A clock that only pauses move, by so many times their length. */
function testClock(times = 10) {
  let now = 0;
  const pause = async (milliseconds: number) => {
    now += milliseconds * times;
  };
  return { now: () => now, pause };
}

test('withFileLock: takes over a lock of another machine once its mark does not change any more', async () => {
  const path = join(freshFolder(), 'data');
  mkdirSync(`${path}.lock`);
  writeFileSync(join(`${path}.lock`, `00000000-${process.pid}-000000000000`), '');
  const clock = testClock();
  expect(await withFileLock(path, async () => 'mine', { clock })).toBe('mine');
  expect(clock.now()).toBeGreaterThanOrEqual(20_000);
});

test('withFileLock: takes an empty lock folder, which a process left that ended while it released the lock', async () => {
  const path = join(freshFolder(), 'data');
  mkdirSync(`${path}.lock`);
  expect(await withFileLock(path, async () => 'mine')).toBe('mine');
});

test('withFileLock: gives up with a sentence if the holder goes on for too long', async () => {
  const path = join(freshFolder(), 'data');
  const mark = join(`${path}.lock`, '00000000-77-000000000000');
  mkdirSync(`${path}.lock`);
  const clock = testClock(100);
  let beat = 0;
  const beating = {
    now: clock.now,
    pause: async (milliseconds: number) => {
      writeFileSync(mark, String(beat++));
      await clock.pause(milliseconds);
    },
  };
  writeFileSync(mark, '');
  await expect(withFileLock(path, async () => undefined, { clock: beating })).rejects.toThrow(
    /does not finish .*process 77/,
  );
  expect(readdirSync(join(path, '..'))).toEqual(['data.lock']);
});

describe('withFileLock with `refuse`', () => {
  const refuse = (lock: string) => new Error(`${basename(lock)} is taken`);

  test('rejects at once while this process holds the lock', async () => {
    const path = join(freshFolder(), 'data');
    const second = withFileLock(path, () => withFileLock(path, async () => 'second', { refuse }));
    await expect(second).rejects.toThrow('data.lock is taken');
    expect(await withFileLock(path, async () => 'next', { refuse })).toBe('next');
  });

  test('names the process that the holder gives, otherwise that of the holder', async () => {
    const path = join(freshFolder(), 'data');
    const named = (_: string, holder: number) => new Error(`process ${holder}`);
    const second = () => withFileLock(path, async () => 'second', { refuse: named });
    await expect(withFileLock(path, second, { holder: 4711 })).rejects.toThrow('process 4711');
    await expect(withFileLock(path, second)).rejects.toThrow(`process ${process.pid}`);
  });

  test('takes over the lock of a killed process', async () => {
    const folder = freshFolder();
    const path = join(folder, 'data');
    await killedHolder(path, folder);
    expect(await withFileLock(path, async () => 'mine', { refuse })).toBe('mine');
  });

  test('rejects once the mark of another machine changes, and leaves it alone', async () => {
    const path = join(freshFolder(), 'data');
    const mark = join(`${path}.lock`, '00000000-77-000000000000');
    mkdirSync(`${path}.lock`);
    writeFileSync(mark, '');
    const clock = testClock(100);
    const pause = async (milliseconds: number) => {
      utimesSync(mark, clock.now(), clock.now());
      await clock.pause(milliseconds);
    };
    const work = withFileLock(path, async () => undefined, { clock: { now: clock.now, pause }, refuse });
    await expect(work).rejects.toThrow('data.lock is taken');
    expect(existsSync(mark)).toBe(true);
  });

  test.each([
    ['a mark of another machine', '00000000-77-000000000000'],
    ['a lock file of version 0.1', undefined],
  ])('takes over %s that does not change any more', async (_, mark) => {
    const path = join(freshFolder(), 'data');
    if (mark !== undefined) mkdirSync(`${path}.lock`);
    writeFileSync(mark === undefined ? `${path}.lock` : join(`${path}.lock`, mark), '77 x');
    const clock = testClock();
    expect(await withFileLock(path, async () => 'mine', { clock, refuse })).toBe('mine');
    expect(clock.now()).toBeGreaterThanOrEqual(20_000);
    expect(existsSync(`${path}.lock`)).toBe(false);
  });
});
