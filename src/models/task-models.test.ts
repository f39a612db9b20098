import { expect, test } from 'vitest';
import type { EmbeddingEngine } from '../core/embedding.ts';
import { AppError } from '../core/errors.ts';
import type { EngineState } from '../engines/host/engine-state.ts';
import { EngineLifecycle, type HostedEngine } from './engine-lifecycle.ts';
import type { ModelKinds, TaskModel } from './kinds.ts';
import { Registry } from './registry.ts';
import { countsOthers, givenModels, specsOf, taskSources } from './task-models.ts';

function registry(): Registry<ModelKinds> {
  return new Registry<ModelKinds>(
    { specs: [], usual: {} },
    {
      room: () => ({ bytes: Number.POSITIVE_INFINITY, count: 1 }),
      startTimer: () => ({ cancel: () => undefined }),
      now: () => 0,
      defaultKeepMs: () => Number.POSITIVE_INFINITY,
    },
  );
}

function model(name: string, state: EngineState = { type: 'ready' }, given = false): TaskModel<'embedding'> {
  const engine: EmbeddingEngine & HostedEngine = {
    pid: undefined,
    start: () => undefined,
    stop: async () => undefined,
    state: () => state,
    settled: async () => undefined,
    facts: () => ({ dimensions: 2, maxTokens: 8, pooling: 'mean', architecture: name, parameters: 1, sizeBytes: 1 }),
    embed: async () => ({ vectors: [], tokens: [], truncated: [], pooling: 'mean' }),
    rank: async () => ({ scores: [], tokens: 0, truncated: [] }),
  };
  const spec = { name, kind: 'embedding', need: async () => 1, make: () => new EngineLifecycle(engine) } as const;
  return { spec, given };
}

test('a source brings its engine in when somebody uses it, and knows it from then on', async () => {
  const { embedding, speech } = taskSources(registry(), { embedding: model('small') });
  expect(speech).toBeUndefined();
  expect([embedding?.name, embedding?.state().type, embedding?.peek()]).toEqual(['small', 'unloaded', undefined]);
  const use = await embedding?.use();
  expect(use?.engine.facts()?.architecture).toBe('small');
  expect(embedding?.state()).toEqual({ type: 'ready' });
  use?.release();
  expect(embedding?.peek()?.facts()?.dimensions).toBe(2);
});

test('one that cannot be loaded rejects with the reason, and its state tells it too', async () => {
  const sources = taskSources(registry(), { embedding: model('bad', { type: 'failed', reason: 'damaged' }) });
  const error = await sources.embedding?.use().catch((thrown: unknown) => thrown);
  expect((error as AppError).code).toBe('model-load-failed');
  expect(sources.embedding?.state()).toEqual({ type: 'failed', reason: 'damaged' });
});

test('two rooms that name the same model share it', async () => {
  const kept = registry();
  const first = taskSources(kept, { embedding: model('same') });
  const second = taskSources(kept, { embedding: model('same') });
  const [one, two] = await Promise.all([first.embedding?.use(), second.embedding?.use()]);
  expect(one?.engine).toBe(two?.engine);
  expect(kept.list().length).toBe(1);
});

test('who waits for longer than its timeout is told so', async () => {
  const never = model('slow');
  const slow = { ...never, spec: { ...never.spec, need: () => new Promise<number>(() => {}) } };
  const timeout = {
    seconds: 5,
    startTimer: (_: number, late: () => void) => {
      late();
      return { cancel: () => undefined, restart: () => undefined };
    },
  };
  const error = await taskSources(registry(), { embedding: slow }, timeout)
    .embedding?.use()
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AppError);
  expect((error as AppError).code).toBe('model-late');
});

test('those that a flag names are told apart from those that are built in', () => {
  const models = { embedding: model('named', { type: 'ready' }, true) };
  expect(givenModels(models).map(({ spec }) => spec.name)).toEqual(['named']);
  expect(givenModels({ embedding: model('built-in') })).toEqual([]);
  expect(specsOf(models).map(({ name }) => name)).toEqual(['named']);
});

test.each([
  ['a built-in one that is not loaded', false, [{ kind: 'embedding', resident: false }], false],
  ['a built-in one in memory', false, [{ kind: 'embedding', resident: true }], true],
  ['one that a flag names, loaded or not', true, [{ kind: 'embedding', resident: false }], true],
  ['the text model alone', false, [{ kind: 'text', resident: true }], false],
])('countsOthers: --multiuser 0 and %s', (_, given, listed, expected) => {
  expect(countsOthers({ embedding: model('one', undefined, given) }, listed)).toBe(expected);
});
