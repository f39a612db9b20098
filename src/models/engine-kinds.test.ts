import { expect, test } from 'vitest';
import type { EmbeddingEngine } from '../core/embedding.ts';
import { AppError } from '../core/errors.ts';
import type { EngineState } from '../engines/host/engine-state.ts';
import { RunningImageJobs } from '../queue/image.ts';
import { Queue } from '../queue/queue.ts';
import { RequestQueue } from '../queue/request-queue.ts';
import {
  countsTaskModels,
  createTaskServices,
  givenModels,
  offeredKinds,
  specsOf,
  type TaskSources,
  taskCapacities,
  taskCounters,
  taskFeatures,
  taskSources,
} from './engine-kinds.ts';
import { EngineLifecycle, type HostedEngine } from './lifecycle.ts';
import { Registry } from './registry.ts';
import type { TaskModel } from './task-model.ts';

function registry(): Registry {
  return new Registry({
    memoryBudget: () => ({ bytes: Number.POSITIVE_INFINITY, count: 1 }),
    startTimer: () => ({ cancel: () => undefined }),
    now: () => 0,
    defaultKeepMs: () => Number.POSITIVE_INFINITY,
  });
}

function model(name: string, state: EngineState = { type: 'ready' }, given = false): TaskModel<EmbeddingEngine> {
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

test('taskSources: a source loads its engine at its first use', async () => {
  const { embedding, speech } = taskSources(registry(), { embedding: model('small') });
  expect(speech).toBeUndefined();
  expect([embedding?.name, embedding?.state().type, embedding?.peek()]).toEqual(['small', 'unloaded', undefined]);
  const use = await embedding?.use();
  expect(use?.engine.facts()?.architecture).toBe('small');
  expect(embedding?.state()).toEqual({ type: 'ready' });
  use?.release();
  expect(embedding?.peek()?.facts()?.dimensions).toBe(2);
});

test('taskSources: a model that cannot be loaded rejects with the reason, which its state repeats', async () => {
  const sources = taskSources(registry(), { embedding: model('bad', { type: 'failed', reason: 'damaged' }) });
  const error = await sources.embedding?.use().catch((thrown: unknown) => thrown);
  expect((error as AppError).code).toBe('model-load-failed');
  expect(sources.embedding?.state()).toEqual({ type: 'failed', reason: 'damaged' });
});

test('taskSources: two contexts that name the same model share its engine', async () => {
  const kept = registry();
  const first = taskSources(kept, { embedding: model('same') });
  const second = taskSources(kept, { embedding: model('same') });
  const [one, two] = await Promise.all([first.embedding?.use(), second.embedding?.use()]);
  expect(one?.engine).toBe(two?.engine);
  expect(kept.list().length).toBe(1);
});

test('taskSources: rejects with model-late after the load time-out', async () => {
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

test('givenModels: lists models that flags name, and no built-in ones', () => {
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
])('countsTaskModels: --multiuser 0 and %s', (_, given, listed, expected) => {
  expect(countsTaskModels({ embedding: model('one', undefined, given) }, listed)).toBe(expected);
});

function sources(): TaskSources {
  return taskSources(registry(), { embedding: model('tiny'), textEmbedding: model('text') });
}

const parts = () => {
  const requestQueue = new RequestQueue(new Queue({ capacity: 1, maxRequests: () => 9 }), () => 0);
  return { requestQueue, imageJobs: new RunningImageJobs(() => 0) };
};

test('createTaskServices: makes a service for each source, and none for absent kinds', () => {
  expect(createTaskServices({}, parts())).toEqual({});
  const made = createTaskServices(sources(), parts());
  expect(Object.entries(made).map(([kind, { name }]) => [kind, name])).toEqual([
    ['embedding', 'tiny'],
    ['textEmbedding', 'text'],
  ]);
});

test('taskCapacities: the concurrency of a source, or that of its kind', () => {
  const own = { ...sources(), speech: { ...sources().embedding, name: 'voice' } as never };
  const limited = { ...own, embedding: { ...sources().embedding, concurrency: () => 3 } as never };
  const capacities = (of: TaskSources) => taskCapacities(of).map(([lane, capacity]) => [lane.slice(1), capacity()]);
  expect(capacities(own)).toEqual([
    ['task speech voice', 1],
    ['task embedding tiny', 8],
    ['task embedding text', 8],
  ]);
  expect(capacities(limited)).toContainEqual(['task embedding tiny', 3]);
});

test('taskFeatures and offeredKinds: name every kind, available or not', () => {
  const { embedding } = sources();
  expect(taskFeatures(embedding ? { embedding } : {})).toMatchObject({ embeddings: true, tts: false, txt2img: false });
  const offers = (failed: readonly string[]) =>
    Object.fromEntries(
      offeredKinds({ embedding: model('tiny') }, true, failed).map(({ module, active }) => [module, active]),
    );
  expect(offers([])).toMatchObject({ TextGeneration: true, VectorEmbeddings: true, TextToSpeech: false });
  expect(offers(['embedding'])).toMatchObject({ TextGeneration: true, VectorEmbeddings: false });
});

test('taskFeatures: a model whose pack is not installed is not available', () => {
  let installed = false;
  const models = { embedding: { ...model('tiny'), available: () => installed } };
  const own = taskSources(registry(), models);
  expect(taskFeatures(own)).toMatchObject({ embeddings: false });
  installed = true;
  expect(taskFeatures(own)).toMatchObject({ embeddings: true });
});

test('taskCounters: how many tasks of each kind were done', () => {
  const { requestQueue } = parts();
  requestQueue.finished('speech', true);
  requestQueue.finished('speech', false);
  expect(taskCounters(requestQueue)).toMatchObject({ total_tts_gens: 1, total_img_gens: 0 });
});
