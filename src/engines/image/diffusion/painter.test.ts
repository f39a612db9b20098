import { describe, expect, test } from 'vitest';
import { AppError } from '../../../core/errors.ts';
import type { PainterLoad, PaintParams, ToPainter } from './messages.ts';
import { graceMs, Painter, type PainterListeners } from './painter.ts';

const load: PainterLoad = { module: 'file:///driver.js', files: { model: '/m' }, config: {}, upscalerConfig: {} };
const params = { prompt: 'a boat', seed: 1 } as PaintParams;
const never = new AbortController().signal;
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

function world() {
  const sent: (ToPainter & { bytes?: number })[] = [];
  const deaths: string[] = [];
  const timers: { milliseconds: number; action: () => void; cancelled: boolean }[] = [];
  let listeners: PainterListeners | undefined;
  let kills = 0;
  const painter = new Painter({
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
  const say = (message: Parameters<PainterListeners['message']>[0], bytes = new Uint8Array()) =>
    listeners?.message(message, bytes);
  return { painter, sent, deaths, timers, say, exit: (how: string) => listeners?.exit(how), kills: () => kills };
}

function drawing({ painter }: ReturnType<typeof world>, signal = never, initial?: Uint8Array) {
  const steps: string[] = [];
  const progress = (step: number, of: number) => void steps.push(`${step}/${of}`);
  const picture = painter.draw(params, initial, { progress, signal });
  picture.catch(() => undefined);
  return { picture, steps };
}

describe('Painter.load', () => {
  test('resolves when the process reports it', async () => {
    const { painter, sent, say } = world();
    const loading = painter.load(load);
    expect(sent).toEqual([{ type: 'load', load }]);
    say({ type: 'loaded' });
    await loading;
  });

  test('rejects with the reason or with the exit of the process', async () => {
    const one = world();
    const refused = one.painter.load(load);
    one.say({ type: 'load-failed', reason: 'no such file' });
    await expect(refused).rejects.toThrow('no such file');
    const other = world();
    const lost = other.painter.load(load);
    other.exit('its process ended with SIGILL');
    await expect(lost).rejects.toThrow('SIGILL');
    expect(other.deaths).toEqual(['its process ended with SIGILL']);
  });
});

describe('Painter.draw', () => {
  test('reports progress and returns the picture', async () => {
    const own = world();
    const { picture, steps } = drawing(own, never, Uint8Array.of(1, 2, 3));
    expect(own.sent[0]).toEqual({ type: 'draw', id: 1, params, initial: true, bytes: 3 });
    own.say({ type: 'progress', id: 1, step: 1, steps: 2 });
    own.say({ type: 'progress', id: 1, step: 2, steps: 2 });
    own.say({ type: 'picture', id: 1 }, Uint8Array.of(9));
    own.say({ type: 'ended', id: 1 });
    expect(await picture).toEqual(Uint8Array.of(9));
    expect(steps).toEqual(['1/2', '2/2']);
  });

  test('rejects without a picture or with the error of the driver', async () => {
    const own = world();
    const first = drawing(own);
    own.say({ type: 'ended', id: 1 });
    await expect(first.picture).rejects.toThrow('it gave no picture');
    const second = drawing(own);
    own.say({ type: 'failed', id: 2, reason: 'width must be positive' });
    await expect(second.picture).rejects.toThrow('width must be positive');
    expect(own.painter.usable).toBe(true);
  });

  test('ignores messages of earlier jobs', async () => {
    const own = world();
    drawing(own);
    own.say({ type: 'failed', id: 1, reason: 'x' });
    await settle();
    const { picture, steps } = drawing(own);
    own.say({ type: 'progress', id: 1, step: 1, steps: 2 });
    own.say({ type: 'picture', id: 2 }, Uint8Array.of(4));
    own.say({ type: 'ended', id: 2 });
    expect(await picture).toEqual(Uint8Array.of(4));
    expect(steps).toEqual([]);
  });

  test('upscale sends its own message', async () => {
    const own = world();
    const larger = own.painter.upscale(Uint8Array.of(1), never);
    expect(own.sent).toEqual([{ type: 'upscale', id: 1, bytes: 1 }]);
    own.say({ type: 'picture', id: 1 }, Uint8Array.of(2));
    own.say({ type: 'ended', id: 1 });
    expect(await larger).toEqual(Uint8Array.of(2));
  });
});

describe('Painter: abort', () => {
  test('cancels at the next step and keeps the model', async () => {
    const own = world();
    const stop = new AbortController();
    const { picture } = drawing(own, stop.signal);
    stop.abort(new AppError('stopped', {}));
    expect(own.sent.at(-1)).toEqual({ type: 'cancel' });
    own.say({ type: 'failed', id: 1, reason: 'Job cancelled' });
    await expect(picture).rejects.toMatchObject({ code: 'stopped' });
    expect(own.timers).toMatchObject([{ milliseconds: graceMs, cancelled: true }]);
    expect([own.painter.usable, own.kills()]).toEqual([true, 0]);
  });

  test('kills the process after the grace period without reporting a crash', async () => {
    const own = world();
    const stop = new AbortController();
    const { picture } = drawing(own, stop.signal);
    stop.abort(new AppError('stopped', {}));
    own.timers[0]?.action();
    await expect(picture).rejects.toMatchObject({ code: 'stopped' });
    expect([own.painter.usable, own.kills(), own.deaths]).toEqual([false, 1, []]);
  });

  test('before the start sends nothing', async () => {
    const own = world();
    await expect(drawing(own, AbortSignal.abort(new AppError('stopped', {}))).picture).rejects.toThrow('stopped');
    expect(own.sent).toEqual([]);
  });
});

test('Painter: a crash rejects the running job and is reported once', async () => {
  const own = world();
  const { picture } = drawing(own);
  own.exit('its process ended with SIGSEGV');
  own.exit('again');
  await expect(picture).rejects.toThrow('SIGSEGV');
  expect([own.deaths, own.painter.usable]).toEqual([['its process ended with SIGSEGV'], false]);
});
