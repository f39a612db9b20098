import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { DriverProcess, driverFailure, graceMs } from './driver-process.ts';
import type { FromDriver, ToDriver } from './messages.ts';

type Spawn = ConstructorParameters<typeof DriverProcess<string, string, number>>[0]['spawn'];

function world() {
  const sent: (ToDriver<string, string> & { bytes?: number })[] = [];
  let kills = 0;
  const deaths: string[] = [];
  const timers: { milliseconds: number; action: () => void; cancelled: boolean }[] = [];
  let listeners: Parameters<Spawn>[0] | undefined;
  const driver = new DriverProcess<string, string, number>({
    spawn: (given) => {
      listeners = given;
      return {
        send: (message, bytes) => void sent.push(bytes ? { ...message, bytes: bytes.length } : message),
        kill: () => {
          kills += 1;
          given.exit('its process ended with SIGKILL');
        },
      };
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
  const run = (signal = new AbortController().signal, input?: Uint8Array) => {
    const result = driver.run('song', { input, progress: (at) => progress.push(at), signal });
    result.catch(() => undefined);
    return result;
  };
  const exit = (how: string) => listeners?.exit(how);
  return { driver, sent, deaths, timers, say, run, progress, exit, kills: () => kills };
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

  test('load: rejects with the exit of the process', async () => {
    const { driver, exit, deaths } = world();
    const loading = driver.load('m');
    exit('its process ended with SIGILL');
    await expect(loading).rejects.toThrow('SIGILL');
    expect(deaths).toEqual(['its process ended with SIGILL']);
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

  test('run: sends the input', () => {
    const { run, sent } = world();
    run(undefined, Uint8Array.of(1, 2, 3));
    expect(sent).toEqual([{ type: 'run', id: 1, task: 'song', bytes: 3 }]);
  });

  test('run: rejects with the reason of the driver, which stays usable', async () => {
    const { run, say, driver } = world();
    const result = run();
    say({ type: 'failed', id: 1, reason: 'out of memory' });
    await expect(result).rejects.toThrow('out of memory');
    expect(driver.usable).toBe(true);
  });

  test('abort: cancels the task and rejects with the reason of the signal', async () => {
    const { run, sent, say, timers, driver, kills } = world();
    const abort = new AbortController();
    const result = run(abort.signal);
    abort.abort(new AppError('stopped', {}));
    expect(sent.at(-1)).toEqual({ type: 'cancel' });
    say({ type: 'failed', id: 1, reason: 'cancelled' });
    await expect(result).rejects.toMatchObject({ code: 'stopped' });
    expect(timers).toMatchObject([{ milliseconds: graceMs, cancelled: true }]);
    expect([driver.usable, kills()]).toEqual([true, 0]);
  });

  test('abort: before the start, nothing is sent', async () => {
    const { run, sent } = world();
    await expect(run(AbortSignal.abort(new AppError('stopped', {})))).rejects.toMatchObject({ code: 'stopped' });
    expect(sent).toEqual([]);
  });

  test('abort: a task that does not stop in time ends the process without an engine-lost error', async () => {
    const { run, timers, driver, deaths, kills } = world();
    const abort = new AbortController();
    const result = run(abort.signal);
    abort.abort(new AppError('stopped', {}));
    timers[0]?.action();
    await expect(result).rejects.toMatchObject({ code: 'stopped' });
    expect([driver.usable, kills(), deaths]).toEqual([false, 1, []]);
  });

  test('exit: the loss is reported once; a running task gets no answer, as the host would give this process the next one', async () => {
    const { run, exit, deaths } = world();
    const answers: unknown[] = [];
    run().then(
      () => answers.push('done'),
      (error) => answers.push(error),
    );
    exit('its process ended with SIGSEGV');
    exit('again');
    await new Promise((resolve) => setImmediate(resolve));
    expect(answers).toEqual([]);
    expect(deaths).toEqual(['its process ended with SIGSEGV']);
  });
});

describe('driverFailure', () => {
  const { signal } = new AbortController();

  test('has one full stop', () => {
    expect(driverFailure(new Error(' out of memory. '), 'image', signal).message).toBe(
      'The image engine could not do this: out of memory.',
    );
    expect(driverFailure('odd', 'music', signal)).toMatchObject({ code: 'engine-failed', status: 500 });
  });

  test('throws the reason of an abort', () => {
    const aborted = AbortSignal.abort(new AppError('stopped', {}));
    expect(() => driverFailure(new Error('Job cancelled'), 'image', aborted)).toThrow(new AppError('stopped', {}));
  });
});
