import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { DriverProcess, graceMs, type SpawnDriver } from './driver-process.ts';
import type { FromDriver, ToDriver } from './messages.ts';

type Spawn = SpawnDriver<string, string, number>;

function world() {
  const sent: ToDriver<string, string>[] = [];
  const deaths: string[] = [];
  const timers: { milliseconds: number; action: () => void; cancelled: boolean }[] = [];
  let listeners: Parameters<Spawn>[0] | undefined;
  const driver = new DriverProcess<string, string, number>({
    spawn: (given) => {
      listeners = given;
      return { send: (message) => void sent.push(message), kill: () => given.exit('its process ended with SIGKILL') };
    },
    startTimer: (milliseconds, action) => {
      const timer = { milliseconds, action, cancelled: false };
      timers.push(timer);
      return {
        cancel: () => {
          timer.cancelled = true;
        },
      };
    },
    died: (how) => deaths.push(how),
  });
  const say = (message: FromDriver<number>, bytes = new Uint8Array()) => listeners?.message(message, bytes);
  const progress: number[] = [];
  const run = (signal = new AbortController().signal) => {
    const result = driver.run('song', (at) => progress.push(at), signal);
    result.catch(() => undefined);
    return result;
  };
  return { driver, sent, deaths, timers, say, run, progress, exit: (how: string) => listeners?.exit(how) };
}

describe('DriverProcess', () => {
  test('load: resolves when the model is loaded, rejects with the reason', async () => {
    const { driver, sent, say } = world();
    const first = driver.load('m');
    say({ type: 'load-failed', reason: 'no such file' });
    await expect(first).rejects.toThrow('no such file');
    const second = driver.load('m');
    say({ type: 'loaded' });
    await second;
    expect(sent).toEqual([
      { type: 'load', load: 'm' },
      { type: 'load', load: 'm' },
    ]);
  });

  test('run: reports progress and resolves to the bytes; messages of other tasks are ignored', async () => {
    const { run, sent, say, progress } = world();
    const result = run();
    expect(sent).toEqual([{ type: 'run', id: 1, task: 'song' }]);
    say({ type: 'progress', id: 1, progress: 0.5 });
    say({ type: 'done', id: 7 }, Uint8Array.of(9));
    say({ type: 'done', id: 1 }, Uint8Array.of(1, 2));
    expect(await result).toEqual(Uint8Array.of(1, 2));
    expect(progress).toEqual([0.5]);
  });

  test('run: rejects with the reason of the driver', async () => {
    const { run, say } = world();
    const result = run();
    say({ type: 'failed', id: 1, reason: 'out of memory' });
    await expect(result).rejects.toThrow('out of memory');
  });

  test('abort: cancels the task and rejects with the reason of the signal', async () => {
    const { run, sent, say, timers, driver } = world();
    const abort = new AbortController();
    const result = run(abort.signal);
    abort.abort(new AppError('stopped', {}));
    expect(sent.at(-1)).toEqual({ type: 'cancel' });
    say({ type: 'failed', id: 1, reason: 'cancelled' });
    await expect(result).rejects.toMatchObject({ code: 'stopped' });
    expect(timers).toMatchObject([{ milliseconds: graceMs, cancelled: true }]);
    expect(driver.usable).toBe(true);
  });

  test('abort: a task that does not stop in time ends the process, which is no loss', async () => {
    const { run, timers, driver, deaths } = world();
    const abort = new AbortController();
    const result = run(abort.signal);
    abort.abort(new AppError('stopped', {}));
    timers[0]?.action();
    await expect(result).rejects.toMatchObject({ code: 'stopped' });
    expect([driver.usable, deaths]).toEqual([false, []]);
  });

  test('exit: a running task rejects, and the loss is reported once', async () => {
    const { run, exit, deaths } = world();
    const result = run();
    exit('its process ended with SIGSEGV');
    exit('again');
    await expect(result).rejects.toThrow('SIGSEGV');
    expect(deaths).toEqual(['its process ended with SIGSEGV']);
  });
});
