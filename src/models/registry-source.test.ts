import { describe, expect, test } from 'vitest';
import type { TextState } from '../core/text-service.ts';
import type { EngineLifecycle } from './engine-lifecycle.ts';
import type { LifecycleState, ModelSpec } from './lifecycle.ts';
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
  const life = {
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
    make: () => life,
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

describe('a model that was never there', () => {
  test('is on its way as far as anybody can tell, with the context that its file lets expect', () => {
    const { source } = world();
    expect(source.state()).toEqual({ type: 'loading', name: 'm', progress: 0, asleep: true });
    expect([source.peek(), source.contextSize()]).toEqual([undefined, 600]);
  });

  test('is not loaded by a look', async () => {
    const { source, registry } = world();
    source.state();
    source.peek();
    source.contextSize();
    await quiet();
    expect(registry.state('text', 'm')).toEqual({ type: 'unloaded' });
  });
});

test('whoever uses it has its engine, which stays until the last one releases it', async () => {
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

test('one that was let go is as ready as before, with the context that it had', async () => {
  const { source, registry } = world();
  (await source.use()).release();
  await registry.unload('text', 'm');
  expect([source.peek(), source.state(), source.contextSize()]).toEqual([undefined, ready, 700]);
});

test('one that cannot be loaded is said with its reason, to who wants it and who looks', async () => {
  const { source } = world('too large');
  await expect(source.use()).rejects.toMatchObject({ code: 'model-load-failed', details: { reason: 'too large' } });
  expect(source.state()).toEqual({ type: 'failed', name: 'm', reason: 'too large' });
});

test('one that cannot be had any more is refused by name', async () => {
  const { source, registry } = world();
  await registry.remove('text', 'm');
  await expect(source.use()).rejects.toMatchObject({ code: 'model-not-found', details: { model: 'm' } });
});

test('who has gone already does not begin to wait', async () => {
  const { source, registry } = world();
  await expect(source.use(AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  expect(registry.state('text', 'm')).toEqual({ type: 'unloaded' });
});
