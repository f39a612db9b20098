import { describe, expect, test } from 'vitest';
import type { TextState } from '../core/text-service.ts';
import type { EngineLifecycle, LifecycleState, ModelSpec } from './lifecycle.ts';
import type { PreparedModel } from './prepared-model.ts';
import { Registry } from './registry.ts';
import { textSourceOf } from './registry-source.ts';
import { quiet } from './testing/registry.ts';
import type { TextEngineProcess } from './text-engine.ts';

const ready = { type: 'ready', model: { name: 'm', contextSize: 700 } } as TextState;

/** One model that is kept, ready as soon as it is asked for unless it is said to fail. */
function world(broken?: string) {
  let known: TextState | undefined;
  const engine = { state: () => ready, contextSize: () => 650 };
  const lifecycle = {
    engine,
    start: () => undefined,
    stop: async () => undefined,
    settled: async () => {
      known = ready;
    },
    state: (): LifecycleState => (broken === undefined ? { type: 'ready' } : { type: 'failed', reason: broken }),
  } as unknown as EngineLifecycle<TextEngineProcess>;
  const spec: ModelSpec<EngineLifecycle<TextEngineProcess>> = {
    name: 'm',
    kind: 'text',
    need: async () => 1,
    make: () => lifecycle,
  };
  const registry = new Registry({
    memoryBudget: () => ({ bytes: 10, count: 1 }),
    startTimer: () => ({ cancel: () => undefined }),
    now: () => 0,
    defaultKeepMs: () => Number.POSITIVE_INFINITY,
  });
  registry.add(spec);
  const model = { spec, contextSize: 600, known: () => known } as unknown as PreparedModel;
  return { registry, engine, source: textSourceOf(registry, model) };
}

describe('textSourceOf: model that was never loaded', () => {
  test('is loading, with the context size of its file', () => {
    const { source } = world();
    expect(source.state()).toEqual({ type: 'loading', name: 'm', progress: 0, asleep: true });
    expect([source.peek(), source.contextSize()]).toEqual([undefined, 600]);
  });

  test('state and facts do not load it', async () => {
    const { source, registry } = world();
    source.state();
    source.peek();
    source.contextSize();
    await quiet();
    expect(registry.state('text', 'm')).toEqual({ type: 'unloaded' });
  });
});

test('textSourceOf: use returns the engine, which stays until the last release', async () => {
  const { source, registry, engine } = world();
  const [first, second] = await Promise.all([source.use(), source.use()]);
  expect([first.engine === engine, second.engine === engine, source.peek() === engine]).toEqual([true, true, true]);
  expect([source.state(), source.contextSize()]).toEqual([ready, 650]);
  const gone = registry.unload('text', 'm');
  first.release();
  await quiet();
  expect(source.peek()).toBe(engine);
  second.release();
  await gone;
  expect(source.peek()).toBeUndefined();
});

test('textSourceOf: an unloaded model stays ready with its context size', async () => {
  const { source, registry } = world();
  (await source.use()).release();
  await registry.unload('text', 'm');
  expect([source.peek(), source.state(), source.contextSize()]).toEqual([undefined, ready, 700]);
});

test('textSourceOf: a failed load gives its reason to use and state', async () => {
  const { source } = world('too large');
  await expect(source.use()).rejects.toMatchObject({ code: 'model-load-failed', details: { reason: 'too large' } });
  expect(source.state()).toEqual({ type: 'failed', name: 'm', reason: 'too large' });
});

test('textSourceOf: rejects a removed model by name', async () => {
  const { source, registry } = world();
  await registry.remove('text', 'm');
  await expect(source.use()).rejects.toMatchObject({ code: 'model-not-found', details: { model: 'm' } });
});

test('textSourceOf: rejects an aborted signal at once', async () => {
  const { source, registry } = world();
  await expect(source.use(AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  expect(registry.state('text', 'm')).toEqual({ type: 'unloaded' });
});
