import { array, assert, asyncProperty, constantFrom, integer, record } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { Registry } from './registry.ts';
import { type FakeLifecycle, fakeRegistry, quiet } from './testing/registry.ts';

const failure = async (work: Promise<unknown>): Promise<AppError> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AppError)) throw new Error(`not refused: ${String(error)}`);
  return error;
};

describe('Registry.use', () => {
  test('loads a model at its first use and reuses it', async () => {
    const { registry, log, lifecycles } = fakeRegistry({ a: {} });
    expect(registry.state('text', 'a')).toEqual({ type: 'unloaded' });
    const use = await registry.use('text', 'a');
    expect(use.lifecycle).toBe(lifecycles[0]);
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    use.release();
    (await registry.use('text', 'a')).release();
    expect(log).toEqual(['loading a', 'loaded a']);
    expect(lifecycles).toHaveLength(1);
  });

  test('rejects an unknown name', async () => {
    const { registry } = fakeRegistry({ a: {} });
    expect(await failure(registry.use('text', 'x'))).toMatchObject({
      code: 'model-not-found',
      details: { model: 'x' },
    });
  });

  test('keeps several models that fit the budget', async () => {
    const { registry, log } = fakeRegistry({ a: { bytes: 50 }, b: { bytes: 50 } });
    await registry.use('text', 'a');
    await registry.use('text', 'b');
    expect(registry.list().map(({ state }) => state.type)).toEqual(['ready', 'ready']);
    expect(log).toEqual(['loading a', 'loaded a', 'loading b', 'loaded b']);
  });

  test('requests during a load share it', async () => {
    const { registry, lifecycle, lifecycles } = fakeRegistry({ a: { manual: true } });
    const uses = [registry.use('text', 'a'), registry.use('text', 'a'), registry.use('text', 'a')];
    await quiet();
    expect(registry.state('text', 'a')).toEqual({ type: 'loading', progress: 0 });
    lifecycle('a').become({ type: 'ready' });
    await Promise.all(uses);
    expect(lifecycles).toHaveLength(1);
    expect(registry.list()[0]?.inUse).toBe(3);
  });

  test('a second release has no effect', async () => {
    const { registry } = fakeRegistry({ a: {} });
    const first = await registry.use('text', 'a');
    await registry.use('text', 'a');
    first.release();
    first.release();
    expect(registry.list()[0]?.inUse).toBe(1);
  });

  test('waits for an engine that restarts after a crash', async () => {
    const { registry, lifecycle } = fakeRegistry({ a: {} });
    (await registry.use('text', 'a')).release();
    lifecycle('a').become({ type: 'loading', progress: 0 });
    let got = false;
    const use = registry.use('text', 'a').then((one) => {
      got = true;
      return one;
    });
    await quiet();
    expect(got).toBe(false);
    lifecycle('a').become({ type: 'ready' });
    expect((await use).lifecycle).toBe(lifecycle('a'));
  });
});

describe('Registry: eviction', () => {
  test('evicts the least recently used model', async () => {
    const { registry, log, pass } = fakeRegistry({ a: { bytes: 40 }, b: { bytes: 40 }, c: { bytes: 40 } });
    for (const name of ['a', 'b', 'a']) {
      (await registry.use('text', name)).release();
      await pass(1);
    }
    (await registry.use('text', 'c')).release();
    expect(log).toContain('loading c instead of b');
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    expect(registry.state('text', 'b')).toEqual({ type: 'unloaded' });
  });

  test('running requests finish first, and new ones wait', async () => {
    const { registry, log, lifecycle } = fakeRegistry({ a: { bytes: 80 }, b: { bytes: 80 } });
    const serving = await registry.use('text', 'a');
    const wanted = registry.use('text', 'b');
    await quiet();
    expect(registry.state('text', 'a')).toEqual({ type: 'leaving' });
    expect(lifecycle('a').stopped).toBe(false);
    const late = registry.use('text', 'a');
    await quiet();
    expect(log).toEqual(['loading a', 'loaded a', 'loading b instead of a']);
    serving.release();
    (await wanted).release();
    expect(log.slice(3, 5)).toEqual(['left a: memory', 'loaded b']);
    // A request for the first one meanwhile loads it again.
    expect((await late).lifecycle).toBe(lifecycle('a'));
    expect(registry.state('text', 'b')).toEqual({ type: 'unloaded' });
  });

  test('sparesBusy: an idle model leaves, a busy one does not, and the load fails at once', async () => {
    const { registry, log } = fakeRegistry({ a: { bytes: 80 }, b: { bytes: 80 } });
    const serving = await registry.use('text', 'a');
    const spare = () => registry.use('text', 'b', undefined, { sparesBusy: true });
    expect((await failure(spare())).message).toContain('its memory is in use by other models');
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    serving.release();
    (await spare()).release();
    expect(log).toEqual([
      'loading a',
      'loaded a',
      'failed b: its memory is in use by other models',
      'loading b instead of a',
      'left a: memory',
      'loaded b',
    ]);
  });

  test('sparesBusy: another request for the same model waits for the busy one as always', async () => {
    const { registry } = fakeRegistry({ a: { bytes: 80 }, b: { bytes: 80 } });
    const serving = await registry.use('text', 'a');
    const uses = [registry.use('text', 'b'), registry.use('text', 'b', undefined, { sparesBusy: true })];
    await quiet();
    expect(registry.state('text', 'a')).toEqual({ type: 'leaving' });
    serving.release();
    for (const use of await Promise.all(uses)) use.release();
  });

  test('loaded models give back what they can spare before one more is loaded', async () => {
    const { registry, lifecycle, log } = fakeRegistry({
      a: { bytes: 40 },
      b: { bytes: 40, manual: true },
      c: { bytes: 40 },
    });
    (await registry.use('text', 'a')).release();
    lifecycle('a').spare = 50;
    const b = registry.use('text', 'b');
    await quiet();
    expect(lifecycle('a').spare).toBe(10);
    lifecycle('b').become({ type: 'ready' });
    (await b).release();
    expect(log).toEqual(['loading a', 'loaded a', 'loading b', 'loaded b']);
  });

  test('a model counts as loaded while others give back memory for it', async () => {
    const { registry, lifecycle, log } = fakeRegistry({ a: { bytes: 20 }, b: { bytes: 50 }, c: { bytes: 50 } });
    (await registry.use('text', 'a')).release();
    const given: (() => void)[] = [];
    lifecycle('a').spare = 50;
    lifecycle('a').release = () => new Promise((resolve) => given.push(resolve));
    const uses = [registry.use('text', 'b'), registry.use('text', 'c')];
    await quiet();
    expect(log.slice(2)).toEqual(['loading b', 'loading c instead of a', 'left a: memory', 'loaded c']);
    lifecycle('a').spare = 0;
    for (const resolve of given) resolve();
    for (const use of uses) (await use).release();
    expect(log.at(-1)).toBe('loaded b');
  });

  test('a load starts only after the evicted model has stopped', async () => {
    const { registry, lifecycle, lifecycles } = fakeRegistry({ a: { bytes: 80 }, b: { bytes: 80 } });
    (await registry.use('text', 'a')).release();
    lifecycle('a').slowStop = true;
    const wanted = registry.use('text', 'b');
    await quiet();
    expect(lifecycles).toHaveLength(1);
    lifecycle('a').stopNow();
    await wanted;
    expect(lifecycles).toHaveLength(2);
  });

  test('does not evict a model between its load and its first use', async () => {
    const { registry, lifecycle } = fakeRegistry({ a: { bytes: 80 }, b: { bytes: 80 } });
    const [a, b] = [registry.use('text', 'a'), registry.use('text', 'b')];
    const use = await a;
    await quiet();
    expect((use.lifecycle as FakeLifecycle).stopped).toBe(false);
    expect(registry.state('text', 'a')).toEqual({ type: 'leaving' });
    use.release();
    expect((await b).lifecycle).toBe(lifecycle('b'));
  });

  test('keeps a pinned model, and rejects one that does not fit beside it with its size', async () => {
    const { registry } = fakeRegistry({ a: { bytes: 80, pinned: true }, b: { bytes: 2 ** 31 } });
    (await registry.use('text', 'a')).release();
    const error = await failure(registry.use('text', 'b'));
    expect(error).toMatchObject({ code: 'model-load-failed', status: 503 });
    expect(error.message).toContain('2.0 GB');
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
  });

  test('measured memory replaces the estimate', async () => {
    const { registry, log } = fakeRegistry({ a: { bytes: 1, measured: 90 }, b: { bytes: 20 } });
    (await registry.use('text', 'a')).release();
    expect(registry.list()[0]?.bytes).toBe(90);
    (await registry.use('text', 'b')).release();
    expect(log).toContain('loading b instead of a');
  });

  test('applies --maxmodels', async () => {
    const { registry, log } = fakeRegistry({ a: {}, b: {} }, { room: { bytes: 100, count: 1 } });
    (await registry.use('text', 'a')).release();
    (await registry.use('text', 'b')).release();
    expect(log).toContain('loading b instead of a');
  });
});

describe('Registry: loads that do not compete for memory', () => {
  test('start at once while another load waits for memory', async () => {
    const { registry } = fakeRegistry({ large: { bytes: 80 }, other: { bytes: 80 }, voice: { bytes: 10 } });
    const serving = await registry.use('text', 'large');
    const waiting = registry.use('text', 'other');
    await quiet();
    (await registry.use('text', 'voice')).release();
    expect(registry.state('text', 'large')).toEqual({ type: 'leaving' });
    serving.release();
    await waiting;
    expect(registry.state('text', 'voice')).toEqual({ type: 'ready' });
  });

  test('run concurrently', async () => {
    const { registry, lifecycle } = fakeRegistry({ a: { bytes: 50, manual: true }, b: { bytes: 50, manual: true } });
    const [a, b] = [registry.use('text', 'a'), registry.use('text', 'b')];
    await quiet();
    lifecycle('b').become({ type: 'ready' });
    expect((await b).name).toBe('b');
    lifecycle('a').become({ type: 'ready' });
    expect((await a).name).toBe('a');
  });

  test('a loading model is not evicted', async () => {
    const { registry, lifecycle, log } = fakeRegistry({ a: { bytes: 80, manual: true }, b: { bytes: 80 } });
    const [a, b] = [registry.use('text', 'a'), registry.use('text', 'b')];
    await quiet();
    expect(log).toEqual(['loading a']);
    lifecycle('a').become({ type: 'ready' });
    (await a).release();
    expect((await b).name).toBe('b');
  });

  test('may pass an earlier load for the same memory once, and is evicted for it then', async () => {
    const { registry, log } = fakeRegistry({ large: { bytes: 80 }, whole: { bytes: 100 }, voice: { bytes: 20 } });
    const serving = await registry.use('text', 'large');
    const waiting = registry.use('text', 'whole');
    await quiet();
    (await registry.use('text', 'voice')).release();
    await registry.unload('text', 'voice');
    // Its second time: the one that waits must have its turn.
    const again = registry.use('text', 'voice');
    await quiet();
    expect(log.filter((line) => line === 'loaded voice')).toHaveLength(1);
    serving.release();
    (await waiting).release();
    expect((await again).name).toBe('voice');
  });
});

test('Registry: a load that fits starts at once, whatever is loaded or leaves', async () => {
  await assert(
    asyncProperty(
      integer({ min: 1, max: 99 }),
      integer({ min: 1, max: 100 }),
      integer({ min: 1, max: 100 }),
      async (large: number, next: number, small: number) => {
        const { registry } = fakeRegistry({ large: { bytes: large }, next: { bytes: next }, small: { bytes: small } });
        const serving = await registry.use('text', 'large');
        const waiting = registry.use('text', 'next').then((use) => use.release());
        await quiet();
        const taken = large + (large + next <= 100 ? next : 0);
        let there = false;
        const use = registry.use('text', 'small').then((one) => {
          there = true;
          one.release();
        });
        await quiet();
        if (taken + small <= 100) expect(there).toBe(true);
        serving.release();
        await Promise.all([waiting, use]);
      },
    ),
  );
});

describe('Registry: failures', () => {
  test('an unreadable file rejects its requests, and nothing is evicted', async () => {
    const { registry, log } = fakeRegistry({ a: { bytes: 90 }, b: { broken: 'not a model' } });
    (await registry.use('text', 'a')).release();
    expect((await failure(registry.use('text', 'b'))).message).toContain('not a model');
    expect(registry.state('text', 'b')).toEqual({ type: 'failed', reason: 'not a model' });
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    expect(log.at(-1)).toBe('failed b: not a model');
  });

  test('a failed load leaves nothing behind and can be retried', async () => {
    const { registry, lifecycle, lifecycles } = fakeRegistry({ a: { manual: true } });
    const first = failure(registry.use('text', 'a'));
    await quiet();
    lifecycle('a').become({ type: 'failed', reason: 'no memory' });
    expect(await first).toMatchObject({ code: 'model-load-failed', details: { model: 'a', reason: 'no memory' } });
    expect(lifecycle('a').stopped).toBe(true);
    expect(registry.list()[0]).toMatchObject({ resident: false, inUse: 0, state: { type: 'failed' } });
    const second = registry.use('text', 'a');
    await quiet();
    lifecycle('a').become({ type: 'ready' });
    await second;
    expect(lifecycles).toHaveLength(2);
  });

  test('other waiting requests are served after a failure', async () => {
    const { registry } = fakeRegistry({ a: { broken: 'bad' }, b: {} });
    const [a, b] = [failure(registry.use('text', 'a')), registry.use('text', 'b')];
    await a;
    expect((await b).name).toBe('b');
  });
});

describe('Registry: disconnect during the wait', () => {
  test('rejects the request, and the loaded model stays for the next one', async () => {
    const { registry, lifecycle, lifecycles } = fakeRegistry({ a: { manual: true } });
    const stop = new AbortController();
    const use = registry.use('text', 'a', stop.signal);
    await quiet();
    stop.abort(new Error('gone'));
    await expect(use).rejects.toThrow('gone');
    lifecycle('a').become({ type: 'ready' });
    await quiet();
    expect(registry.list()[0]).toMatchObject({ inUse: 0, state: { type: 'ready' } });
    await registry.use('text', 'a');
    expect(lifecycles).toHaveLength(1);
  });

  test('an aborted signal loads nothing', async () => {
    const { registry, lifecycles } = fakeRegistry({ a: {} });
    await expect(registry.use('text', 'a', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(lifecycles).toHaveLength(0);
  });

  test('a disconnect during a restart leaves no use behind', async () => {
    const { registry, lifecycle } = fakeRegistry({ a: {} });
    (await registry.use('text', 'a')).release();
    lifecycle('a').become({ type: 'loading', progress: 0 });
    const stop = new AbortController();
    const use = registry.use('text', 'a', stop.signal);
    await quiet();
    stop.abort(new Error('gone'));
    await expect(use).rejects.toThrow('gone');
    expect(registry.list()[0]?.inUse).toBe(0);
  });
});

describe('Registry: idle time', () => {
  test('keepMs of a spec shortens the default and never extends it', async () => {
    const { registry, pass } = fakeRegistry({ short: { keepMs: 50 }, long: { keepMs: 500 } }, { keepMs: 100 });
    await registry.load('text', 'short');
    await registry.load('text', 'long');
    await pass(50);
    expect([registry.state('text', 'short')?.type, registry.state('text', 'long')?.type]).toEqual([
      'unloaded',
      'ready',
    ]);
    await pass(50);
    expect(registry.state('text', 'long')?.type).toBe('unloaded');
  });

  test('unloads an idle model after its time, and loads it again', async () => {
    const { registry, log, pass } = fakeRegistry({ a: {} }, { keepMs: 100 });
    (await registry.use('text', 'a')).release();
    await pass(99);
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    await pass(1);
    expect(registry.state('text', 'a')).toEqual({ type: 'unloaded' });
    (await registry.use('text', 'a')).release();
    expect(log).toEqual(['loading a', 'loaded a', 'left a: idle', 'loading a', 'loaded a']);
  });

  test('every use restarts the time, which does not run during requests', async () => {
    const { registry, pass } = fakeRegistry({ a: {} }, { keepMs: 100 });
    const use = await registry.use('text', 'a');
    await pass(1000);
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    use.release();
    expect(registry.list()[0]?.expiresAt).toBe(1100);
    await pass(60);
    (await registry.use('text', 'a')).release();
    await pass(60);
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
  });

  test('unload after use: takes effect after the last request, and is cancelled by a new one', async () => {
    const { registry, log, pass } = fakeRegistry({ a: {} });
    const use = await registry.use('text', 'a');
    registry.keepFor('text', 'a', 0);
    await pass(0);
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    const second = await registry.use('text', 'a');
    use.release();
    second.release();
    await pass(10_000);
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    registry.keepFor('text', 'a', 0);
    await pass(0);
    expect(registry.state('text', 'a')).toEqual({ type: 'unloaded' });
    expect(log).toContain('left a: used');
  });

  test('a model that is kept longer than any date never expires', async () => {
    const { registry } = fakeRegistry({ a: {} });
    (await registry.use('text', 'a')).release();
    registry.keepFor('text', 'a', 1e300);
    expect(registry.expiresAt('text', 'a')).toBe(Number.POSITIVE_INFINITY);
  });

  test('unload after use: applies to this load only', async () => {
    const { registry, pass } = fakeRegistry({ a: {} });
    (await registry.use('text', 'a')).release();
    registry.keepFor('text', 'a', 50);
    await pass(50);
    (await registry.use('text', 'a')).release();
    await pass(10_000);
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
  });

  test('unload: waits for running requests, and is immediate without any', async () => {
    const { registry, log } = fakeRegistry({ a: {} });
    await registry.unload('text', 'a');
    const use = await registry.use('text', 'a');
    const unloaded = registry.unload('text', 'a');
    await quiet();
    expect(registry.state('text', 'a')).toEqual({ type: 'leaving' });
    use.release();
    await unloaded;
    expect(log.at(-1)).toBe('left a: requested');
    expect(registry.peek('text', 'a')).toBeUndefined();
  });

  test('unload: cancels a running load', async () => {
    const { registry, lifecycle } = fakeRegistry({ a: { manual: true } });
    const use = failure(registry.use('text', 'a'));
    await quiet();
    await registry.unload('text', 'a');
    expect((await use).message).toContain('unloaded while it was being loaded');
    expect(lifecycle('a').stopped).toBe(true);
    expect(registry.list()[0]?.resident).toBe(false);
  });

  test('load: does not count as a use', async () => {
    const { registry } = fakeRegistry({ a: {} });
    await registry.load('text', 'a');
    expect(registry.list()[0]).toMatchObject({ state: { type: 'ready' }, inUse: 0 });
  });
});

describe('Registry.remove', () => {
  test('removes the spec at once, and the model when its requests are finished', async () => {
    const { registry, lifecycles } = fakeRegistry({ a: {}, b: {} });
    const use = await registry.use('text', 'a');
    (await registry.use('text', 'b')).release();
    const removed = registry.remove('text', 'a');
    await quiet();
    expect(registry.list().map(({ name, state }) => [name, state.type])).toEqual([['b', 'ready']]);
    expect(lifecycles[0]?.stopped).toBe(false);
    use.release();
    await removed;
    expect(lifecycles[0]?.stopped).toBe(true);
  });

  test('rejects requests that wait for its load', async () => {
    const { registry } = fakeRegistry({ a: { manual: true } });
    const waiting = failure(registry.use('text', 'a'));
    await quiet();
    await registry.remove('text', 'a');
    expect((await waiting).code).toBe('model-not-found');
  });

  test('resolves at once for an unknown model', async () => {
    const { registry } = fakeRegistry({ a: {} });
    await registry.remove('text', 'x');
    expect(registry.list()).toHaveLength(1);
  });
});

test('Registry.close: stops everything at once', async () => {
  const { registry, lifecycles, lifecycle } = fakeRegistry({ a: {}, b: { manual: true } });
  await registry.use('text', 'a');
  const waiting = failure(registry.use('text', 'b'));
  await quiet();
  await registry.close();
  expect(lifecycles.every(({ stopped }) => stopped)).toBe(true);
  expect((await waiting).message).toContain('the server is ending');
  expect(lifecycle('b').stopped).toBe(true);
  expect((await failure(registry.use('text', 'a'))).code).toBe('model-not-found');
});

test('Registry: stays within the budget, serves every request and stops every engine, for any order of uses, releases and idle times', async () => {
  const step = record({
    what: constantFrom('use', 'release', 'pass', 'unload'),
    which: constantFrom('a', 'b', 'c', 'd'),
    time: integer({ min: 0, max: 80 }),
  });
  await assert(
    asyncProperty(
      array(step, { maxLength: 60 }),
      async (steps: readonly { what: string; which: string; time: number }[]) => {
        const { registry, lifecycles, pass } = fakeRegistry(
          { a: { bytes: 40 }, b: { bytes: 40 }, c: { bytes: 60 }, d: { bytes: 90 } },
          { keepMs: 50 },
        );
        const held: { release(): void }[] = [];
        const open = new Set<Promise<unknown>>();
        for (const { what, which, time } of steps) {
          if (what === 'use') {
            const use = registry.use('text', which).then((one) => held.push(one));
            open.add(use);
            void use.finally(() => open.delete(use));
          } else if (what === 'release') held.shift()?.release();
          else if (what === 'unload') void registry.unload('text', which);
          else await pass(time);
          await quiet();
          const present = registry.list().filter(({ resident }) => resident);
          expect(present.reduce((sum, { bytes = 0 }) => sum + bytes, 0)).toBeLessThanOrEqual(100);
        }
        for (let round = 0; round < 200 && (open.size > 0 || held.length > 0); round += 1) {
          held.shift()?.release();
          await quiet();
        }
        expect(open.size).toBe(0);
        await pass(50);
        expect(registry.list().every(({ inUse, resident }) => inUse === 0 && !resident)).toBe(true);
        expect(lifecycles.every(({ stopped }) => stopped)).toBe(true);
      },
    ),
    { numRuns: 200 },
  );
});

describe('GPUs', () => {
  test('models that fit on the GPU stay beside each other, in the order of use the oldest leaves for the next', async () => {
    const { registry, log } = fakeRegistry({ a: { onGpu: 40 }, b: { onGpu: 40 }, c: { onGpu: 40 } });
    for (const name of ['a', 'b', 'c']) (await registry.use('text', name)).release();
    expect(log).toEqual([
      'loading a',
      'loaded a',
      'loading b',
      'loaded b',
      'loading c instead of a',
      'left a: memory',
      'loaded c',
    ]);
    expect((await registry.gpus())[0]).toMatchObject({ name: 'CUDA0', freeBytes: 20, totalBytes: 100, heldBytes: 80 });
  });

  test('what another program takes is counted before each load', async () => {
    let others = 0;
    const { registry, log } = fakeRegistry({ a: { onGpu: 40 }, b: { onGpu: 40 } }, { otherPrograms: () => others });
    (await registry.use('text', 'a')).release();
    others = 30;
    (await registry.use('text', 'b')).release();
    expect(log).toContain('loading b instead of a');
  });

  test('a model that needs no GPU loads beside a full one', async () => {
    const { registry, log } = fakeRegistry({ a: { onGpu: 100 }, b: {} });
    for (const name of ['a', 'b']) (await registry.use('text', name)).release();
    expect(log).not.toContainEqual(expect.stringContaining('left'));
  });

  test('a model that is larger than the GPU is loaded alone on it', async () => {
    const { registry, log } = fakeRegistry({ a: { onGpu: 40 }, b: { onGpu: 400 } });
    for (const name of ['a', 'b']) (await registry.use('text', name)).release();
    expect(log.slice(2)).toEqual(['loading b instead of a', 'left a: memory', 'loaded b']);
  });
});

describe('Registry: pinned models', () => {
  test('a model that does not fit beside a pinned one is refused with its name', async () => {
    const { registry } = fakeRegistry({ a: { bytes: 60, pinned: true }, b: { bytes: 60 }, c: { bytes: 400 } });
    await registry.load('text', 'a');
    const error = await failure(registry.load('text', 'b'));
    expect(error.message).toContain('it cannot be loaded beside what is pinned (--pin): a');
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    expect((await failure(registry.load('text', 'c'))).message).not.toContain('--pin');
  });

  test('others are evicted in its stead', async () => {
    const { registry, log } = fakeRegistry({ a: { bytes: 40, pinned: true }, b: { bytes: 40 }, c: { bytes: 40 } });
    for (const name of ['a', 'b', 'c']) await registry.load('text', name);
    expect(log).toContain('loading c instead of b');
  });

  test('neither the default time nor the time of a request unloads it, but a request to unload it does', async () => {
    const { registry, pass } = fakeRegistry({ a: { pinned: true } }, { keepMs: 1000 });
    await registry.load('text', 'a');
    registry.keepFor('text', 'a', 10);
    await pass(5000);
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    registry.keepFor('text', 'a', 0);
    await pass(0);
    expect(registry.state('text', 'a')).toEqual({ type: 'unloaded' });
  });
});

describe('Registry: idle time of a model', () => {
  test.each([
    ['wins over a shorter default', { idleMs: 3000 }, 2000, 'ready'],
    ['wins over a longer default', { idleMs: 500 }, 600, 'unloaded'],
    ['applies to a pinned model', { idleMs: 500, pinned: true }, 600, 'unloaded'],
  ])('%s', async (_, model, milliseconds, type) => {
    const { registry, pass } = fakeRegistry({ a: model }, { keepMs: 1000 });
    await registry.load('text', 'a');
    await pass(milliseconds);
    expect(registry.state('text', 'a')).toEqual({ type });
  });
});

describe('Registry: groups', () => {
  test('a model of another group waits until the requests of the first group are finished', async () => {
    const { registry, log } = fakeRegistry({ a: { group: 'x' }, b: { group: 'y' }, c: {} });
    const use = await registry.use('text', 'a');
    await registry.load('text', 'c');
    const other = registry.use('text', 'b');
    await quiet();
    expect(registry.state('text', 'b')).toEqual({ type: 'unloaded' });
    use.release();
    await other;
    expect(log.filter((line) => /^(loaded|left)/.test(line))).toEqual([
      'loaded a',
      'loaded c',
      'left a: memory',
      'loaded b',
    ]);
  });

  test('a model that must not push out others is refused with the reason', async () => {
    const { registry } = fakeRegistry({ a: { group: 'x' }, b: { group: 'y' } });
    await registry.use('text', 'a');
    const error = await failure(registry.use('text', 'b', undefined, { sparesBusy: true }));
    expect(error.message).toContain('models of another group are in use (--group)');
  });

  test('a pinned model keeps other groups out', async () => {
    const { registry } = fakeRegistry({ a: { group: 'x', pinned: true }, b: { group: 'y' } });
    await registry.load('text', 'a');
    expect((await failure(registry.load('text', 'b'))).message).toContain(
      'it cannot be loaded beside what is pinned (--pin) in another group (--group): a',
    );
  });
});

describe('Registry: the order of swaps', () => {
  const single = { room: { bytes: 100, count: 1 } };
  const limited = (seconds: number, swaps = 100) => ({ ...single, swapLimits: { seconds, swaps } });

  /** A request that is queued until `begin`. */
  const queued = (registry: Registry, name: string) => {
    const expected = registry.expect('text', name);
    return { begin: () => registry.use('text', name, undefined, { expected }), leave: () => expected?.end() };
  };

  test('a queued request keeps its model before a later one for another model', async () => {
    const { registry, log } = fakeRegistry({ a: {}, b: {} }, limited(0));
    const first = await registry.use('text', 'a');
    const second = queued(registry, 'a');
    const other = registry.use('text', 'b');
    await quiet();
    first.release();
    const use = await second.begin();
    expect(log).not.toContain('loaded b');
    use.release();
    await other;
    expect(log).toContain('left a: memory');
  });

  test('a queued request that is given up lets the other model in', async () => {
    const { registry } = fakeRegistry({ a: {}, b: {} }, limited(0));
    const first = await registry.use('text', 'a');
    const second = queued(registry, 'a');
    const other = registry.use('text', 'b');
    first.release();
    second.leave();
    expect((await other).name).toBe('b');
  });

  test('later requests go first until the limit, and then wait for the next swap', async () => {
    const { registry, pass, log, lifecycle } = fakeRegistry({ a: { manual: true }, b: {} }, limited(20));
    const loading = registry.use('text', 'a');
    const load = async () => {
      await quiet();
      await pass(1000);
      lifecycle('a').become({ type: 'ready' });
    };
    await load();
    const first = await loading;
    const other = registry.use('text', 'b');
    await quiet();
    const second = await registry.use('text', 'a');
    first.release();
    await pass(19_999);
    const third = await registry.use('text', 'a');
    await pass(1);
    const late = registry.use('text', 'a');
    await quiet();
    second.release();
    third.release();
    (await other).release();
    await load();
    await late;
    expect(log.filter((line) => line.startsWith('loaded'))).toEqual(['loaded a', 'loaded b', 'loaded a']);
  });

  test('an idle model makes room at once', async () => {
    const { registry, timers } = fakeRegistry({ a: {}, b: {} }, limited(20));
    await registry.load('text', 'a');
    expect((await registry.use('text', 'b')).name).toBe('b');
    expect(timers()).toBe(0);
  });

  test('loads begin by the arrival of their first request', async () => {
    const { registry, log } = fakeRegistry({ a: {}, b: {}, c: {} }, limited(0));
    const first = await registry.use('text', 'a');
    const early = queued(registry, 'b');
    const other = registry.use('text', 'c').then(({ release }) => release());
    const waiting = early.begin();
    await quiet();
    first.release();
    (await waiting).release();
    await other;
    expect(log.filter((line) => line.startsWith('loaded'))).toEqual(['loaded a', 'loaded b', 'loaded c']);
  });
});
