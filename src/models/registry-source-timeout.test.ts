import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { TextState } from '../core/text-service.ts';
import { fakeEngine } from '../engines/testing/fake-engine.ts';
import { handTimer } from '../http/testing/world.ts';
import { EngineLifecycle, type LifecycleState } from './lifecycle.ts';
import { Registry } from './registry.ts';
import { type Arrival, Arriving, textSourceOf } from './registry-source.ts';

const loading: TextState = { type: 'loading', name: 'mini', progress: 0.5 };

/** A model whose load the test completes. */
function world({ seconds, arrival }: { seconds?: number; arrival?: Arrival } = {}) {
  const engine = fakeEngine({ script: () => ({ pieces: [] }), pace: (next) => next(), contextSize: 512 });
  const ready = engine.state();
  engine.become(loading);
  let known: TextState | undefined;
  const timer = { restart: () => undefined, cancel: () => undefined };
  const spec = {
    name: 'mini',
    kind: 'text',
    need: async () => 1,
    make: () =>
      new EngineLifecycle(engine, () => {
        known = engine.state();
      }),
  };
  const registry = new Registry({
    memoryBudget: () => ({ bytes: 10, count: 10 }),
    startTimer: () => timer,
    now: () => 0,
    defaultKeepMs: () => Number.POSITIVE_INFINITY,
  });
  registry.add(spec);
  const time = handTimer();
  const source = textSourceOf(
    registry,
    { spec, contextSize: 2048, known: () => known },
    { ...(seconds === undefined ? {} : { timeout: { seconds, startTimer: time.startTimer } }), arrival },
  );
  const state = (): LifecycleState['type'] | undefined =>
    registry.state('text', 'mini')?.type as LifecycleState['type'];
  return { source, engine, ready, registry, time, state };
}

const later = () => new Promise((resolve) => setImmediate(resolve));

describe('textSourceOf: model that was never loaded', () => {
  test('is asleep until its first use, with the context size of its file', () => {
    const { source } = world();
    expect(source.state()).toEqual({ type: 'loading', name: 'mini', progress: 0, asleep: true });
    expect(source.contextSize()).toBe(2048);
    expect(source.peek()).toBeUndefined();
  });

  test('is loaded at its first use, and is not asleep meanwhile', async () => {
    const { source, engine, ready } = world();
    const use = source.use();
    await later();
    expect(source.state()).toEqual(loading);
    engine.become(ready);
    const { release } = await use;
    expect(source.state()).toEqual(ready);
    release();
  });

  test('stays ready after it was unloaded', async () => {
    const { source, engine, ready, registry } = world();
    engine.become(ready);
    (await source.use()).release();
    await registry.unload('text', 'mini');
    expect(source.peek()).toBeUndefined();
    expect(source.state()).toEqual(ready);
  });
});

describe('textSourceOf: --reqtimeout', () => {
  test('rejects with model-late after the timeout, and names model and time', async () => {
    const { source, time } = world({ seconds: 7 });
    const use = source.use();
    const refused = expect(use).rejects.toMatchObject({
      code: 'model-late',
      status: 504,
      message: 'mini was not loaded within 7 s (--reqtimeout). Please try again later.',
    });
    await later();
    time.pass(7000);
    await refused;
  });

  test('does not end the load: a later request uses it', async () => {
    const { source, engine, ready, time, state } = world({ seconds: 7 });
    const refused = expect(source.use()).rejects.toMatchObject({ code: 'model-late' });
    await later();
    time.pass(7000);
    await refused;
    expect(state()).toBe('loading');
    engine.become(ready);
    const { release } = await source.use();
    release();
  });

  test('a model in time is usable for any duration', async () => {
    const { source, engine, ready, time } = world({ seconds: 7 });
    const use = source.use();
    await later();
    engine.become(ready);
    const { release } = await use;
    expect(time.waiting()).toEqual([]);
    release();
  });

  test('a client that disconnects first does not get model-late', async () => {
    const { source } = world({ seconds: 7 });
    const client = new AbortController();
    const use = source.use(client.signal);
    const gone = expect(use).rejects.toThrow('gone');
    await later();
    client.abort(new Error('gone'));
    await gone;
  });

  test('0 waits without a limit', async () => {
    const { source, engine, ready, time } = world();
    const use = source.use();
    await later();
    expect(time.waiting()).toEqual([]);
    engine.become(ready);
    (await use).release();
  });
});

describe('textSourceOf: model of a running swap', () => {
  test('is looked up only after the old model, which may have the same name, was removed', async () => {
    const arriving = new Arriving('mini');
    const { source, registry, engine, ready } = world({ arrival: arriving });
    engine.become(ready);
    await registry.load('text', 'mini');
    expect([source.peek(), source.contextSize()]).toEqual([undefined, 512]);
    arriving.begin();
    expect(source.peek()).toBe(engine);
  });

  test('is loaded for waiting requests, and reports its progress', async () => {
    const arriving = new Arriving('mini');
    const { source, engine, ready, registry, state } = world({ arrival: arriving });
    const use = source.use();
    await later();
    expect([state(), source.state()]).toEqual(['unloaded', { type: 'loading', name: 'mini', progress: 0 }]);
    arriving.begin();
    const load = registry.load('text', 'mini');
    await later();
    expect(source.state()).toEqual(loading);
    engine.become(ready);
    await load;
    arriving.end();
    expect((await use).engine).toBe(engine);
  });

  test('rejects waiting and later requests with the reason of a failed load', async () => {
    const arriving = new Arriving('mini');
    const { source, state } = world({ arrival: arriving });
    const reason = new AppError('model-load-failed', { model: 'mini', reason: 'no memory' });
    const uses = [source.use(), source.use()].map((use) => expect(use).rejects.toBe(reason));
    arriving.end(reason);
    await Promise.all(uses);
    await expect(source.use()).rejects.toBe(reason);
    expect(state()).toBe('unloaded');
  });

  test.each([
    ['the swap', { door: 7 }],
    ['the model', { seconds: 7 }],
    ['both', { door: 7, seconds: 7 }],
  ])(
    'rejects with model-late after the timeout of %s',
    async (_, { door, seconds }: { door?: number; seconds?: number }) => {
      const clock = handTimer();
      const timeout = door === undefined ? undefined : { seconds: door, startTimer: clock.startTimer };
      const { source, time } = world({ ...(seconds && { seconds }), arrival: new Arriving('mini', timeout) });
      const refused = expect(source.use()).rejects.toMatchObject({ code: 'model-late', details: { model: 'mini' } });
      await later();
      clock.pass(7000);
      time.pass(7000);
      await refused;
      expect([...clock.waiting(), ...time.waiting()]).toEqual([]);
    },
  );
});
