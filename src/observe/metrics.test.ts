import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import type { ListedModel } from '../core/models-view.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { Performance, TextState } from '../core/text-service.ts';
import { createMetrics, type Metrics } from './metrics.ts';

const request = {} as GenerationRequest;
const start: GenerationEvent = {
  type: 'start',
  promptTokens: 10,
  cachedTokens: 6,
  maxTokens: 5,
  seed: 1,
  droppedTokens: 2,
};
const finish: GenerationEvent = {
  type: 'finish',
  reason: 'stop',
  cause: 'end-token',
  usage: { promptTokens: 10, cachedTokens: 6, completionTokens: 3 },
  timings: { initMs: 0, promptMs: 500, generationMs: 1500, processedTokens: 4 },
};
const word: GenerationEvent = { type: 'text-delta', text: 'x' };

function world(
  models?: Pick<ListedModel, 'name' | 'state'>[],
  documents?: Parameters<typeof createMetrics>[0]['documents'],
) {
  const performance = {
    waiting: 2,
    estimateSeconds: 12,
    uptimeSeconds: 9,
    draftAccepted: 1,
    draftRejected: 2,
  } as { -readonly [Key in keyof Performance]: Performance[Key] };
  const text = { performance: () => performance, state: (): TextState => ({ type: 'none' }) };
  const all = createMetrics({
    startedAt: 1000,
    version: '1.2.3',
    models: models && (async () => models),
    documents,
    // Passes when everything else has settled.
    startTimer: (_, passed) => {
      const soon = setImmediate(passed);
      return { restart: () => undefined, cancel: () => clearImmediate(soon) };
    },
  });
  const exposition = () => all.exposition(text);
  const lines = async () => (await exposition()).text.split('\n');
  const watch = (model: string) => all.watch(model, () => text);
  return { performance, metrics: watch('mini'), tasks: all.tasks, watch, exposition, lines };
}

/** One generation from its beginning to its end. */
function generate(metrics: ReturnType<Metrics['watch']>, { words = 3 } = {}) {
  const job = {};
  metrics.begun(request, job);
  for (const event of [start, ...Array.from({ length: words }, () => word), finish]) metrics.event(event, job);
}

test('metrics: a generation is counted under the names of llama.cpp dashboards', async () => {
  const { metrics, lines } = world();
  generate(metrics);
  expect(await lines()).toEqual(
    expect.arrayContaining([
      '# TYPE llamacpp:prompt_tokens_total counter',
      'llamacpp:prompt_tokens_total 4',
      'llamacpp:prompt_tokens_cached_total 6',
      'llamacpp:prompt_seconds_total 0.5',
      'llamacpp:tokens_predicted_total 3',
      'llamacpp:tokens_predicted_seconds_total 1.5',
      'llamacpp:n_decode_total 4',
      'llamacpp:n_tokens_max 13',
      'llamacpp:spec_decode_num_draft_tokens_total 3',
      'llamacpp:spec_decode_num_accepted_tokens_total 1',
      '# TYPE llamacpp:prompt_tokens_seconds gauge',
      'llamacpp:prompt_tokens_seconds 8',
      'llamacpp:predicted_tokens_seconds 2',
      'llamacpp:requests_processing 0',
      'llamacpp:requests_deferred 2',
      'llamacpp:n_busy_slots_per_decode 1',
      'parley_requests_total{outcome="stop"} 1',
      'parley_dropped_tokens_total 2',
      'parley_generation_duration_seconds_sum 2',
      'parley_prompt_duration_seconds_count 1',
      'parley_info{version="1.2.3"} 1',
      'parley_model_ready 0',
      'process_start_time_seconds 1',
    ]),
  );
});

test('metrics: running requests are counted until they end, however they end', async () => {
  const { metrics, lines } = world();
  const [first, second] = [{}, {}];
  metrics.begun(request, first);
  metrics.begun(request, second);
  expect(await lines()).toContain('llamacpp:requests_processing 2');
  metrics.event(finish, first);
  metrics.event({ type: 'error', error: new AppError('engine-lost', { capability: 'text' }) }, second);
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'llamacpp:requests_processing 0',
      'parley_requests_total{outcome="error"} 1',
      'parley_errors_total{code="engine-lost"} 1',
    ]),
  );
});

test('metrics: has the present numbers of threads, and how often they changed', async () => {
  const { performance, lines } = world();
  expect((await lines()).filter((line) => line.startsWith('parley_thread'))).toEqual([]);
  performance.threads = { decode: 1, prefill: 2, changes: 3 };
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'parley_threads{phase="decode"} 1',
      'parley_threads{phase="prefill"} 2',
      'parley_thread_changes_total 3',
    ]),
  );
});

test('metrics: has the snapshots in memory and their limit', async () => {
  const { performance, lines } = world();
  expect((await lines()).filter((line) => line.startsWith('parley_snapshot'))).toEqual([]);
  performance.snapshots = { snapshots: 2, bytes: 300, limitBytes: 1000 };
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'parley_snapshots 2',
      'parley_snapshot_bytes{kind="used"} 300',
      'parley_snapshot_bytes{kind="limit"} 1000',
    ]),
  );
});

test('metrics: has the cells of a shared KV cache and who waits for some', async () => {
  const { performance, lines } = world();
  expect((await lines()).filter((line) => line.startsWith('parley_kv_pool'))).toEqual([]);
  performance.pool = { cells: 300, capacity: 1000, waiting: 1 };
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'parley_kv_pool_cells{kind="used"} 300',
      'parley_kv_pool_cells{kind="limit"} 1000',
      'parley_kv_pool_waiting 1',
    ]),
  );
});

test('metrics: with several models, each has its threads after a generation', async () => {
  const { metrics, performance, lines } = world([{ name: 'mini', state: 'ready' }]);
  performance.threads = { decode: 1, prefill: 2, changes: 3 };
  generate(metrics);
  expect(await lines()).toContain('parley_threads{model="mini",phase="decode"} 1');
});

test('metrics: two concurrent requests share their steps', async () => {
  const { metrics, lines } = world();
  const [first, second] = [{}, {}];
  metrics.begun(request, first);
  metrics.begun(request, second);
  for (const job of [first, second, first, second]) metrics.event(word, job);
  expect(await lines()).toEqual(
    expect.arrayContaining(['llamacpp:n_decode_total 2', 'llamacpp:n_busy_slots_per_decode 2']),
  );
});

test('metrics: servers have separate values', async () => {
  const { metrics, exposition } = world();
  metrics.event(finish, {});
  expect(await world().lines()).toContain('llamacpp:tokens_predicted_total 0');
  expect((await exposition()).contentType).toContain('version=0.0.4');
});

test('metrics: has the queue time and the expected wait', async () => {
  const { metrics, lines } = world();
  metrics.dequeued(0);
  metrics.dequeued(7000);
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'parley_queue_wait_seconds_bucket{le="0.05"} 1',
      'parley_queue_wait_seconds_bucket{le="10"} 2',
      'parley_queue_wait_seconds_sum 7',
      'parley_queue_estimate_seconds 12',
    ]),
  );
});

describe('metrics: several models', () => {
  const two = (): Pick<ListedModel, 'name' | 'state'>[] => [
    { name: 'a', state: 'ready' },
    { name: 'b', state: 'unloaded' },
  ];

  test('values of a model have its label', async () => {
    const { watch, lines } = world(two());
    const [a, b] = [watch('a'), watch('b')];
    generate(a);
    generate(b);
    generate(b, { words: 1 });
    const told = await lines();
    expect(told).toEqual(
      expect.arrayContaining([
        'llamacpp:prompt_tokens_total{model="a"} 4',
        'llamacpp:prompt_tokens_total{model="b"} 8',
        'llamacpp:tokens_predicted_total{model="b"} 6',
        'llamacpp:n_decode_total{model="a"} 4',
        'llamacpp:n_decode_total{model="b"} 6',
        'llamacpp:n_tokens_max{model="b"} 13',
        'llamacpp:requests_processing{model="a"} 0',
        'llamacpp:prompt_tokens_seconds{model="a"} 8',
        'parley_requests_total{model="b",outcome="stop"} 2',
        'parley_dropped_tokens_total{model="b"} 4',
        'parley_generation_duration_seconds_sum{model="a"} 2',
        'parley_prompt_duration_seconds_count{model="b"} 2',
      ]),
    );
    expect(told.filter((line) => /^llamacpp:prompt_tokens_total /.test(line))).toEqual([]);
  });

  test('values of the queue and the server have no model label', async () => {
    const { watch, lines } = world(two());
    watch('a').dequeued(7000);
    watch('b').dequeued(1000);
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'llamacpp:requests_deferred 2',
        'parley_queue_wait_seconds_sum 8',
        'parley_queue_estimate_seconds 12',
        'parley_uptime_seconds 9',
        'parley_info{version="1.2.3"} 1',
      ]),
    );
  });

  test('models that run concurrently do not share their steps', async () => {
    const { watch, lines } = world(two());
    const [a, b] = [watch('a'), watch('b')];
    const [first, second] = [{}, {}];
    a.begun(request, first);
    b.begun(request, second);
    for (const _ of [1, 2]) {
      a.event(word, first);
      b.event(word, second);
    }
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'llamacpp:n_decode_total{model="a"} 2',
        'llamacpp:n_busy_slots_per_decode{model="b"} 1',
        'llamacpp:requests_processing{model="a"} 1',
      ]),
    );
  });

  test('a failure counts for its model', async () => {
    const { watch, lines } = world(two());
    watch('b').event({ type: 'error', error: new AppError('engine-lost', { capability: 'text' }) }, {});
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'parley_requests_total{model="b",outcome="error"} 1',
        'parley_errors_total{model="b",code="engine-lost"} 1',
      ]),
    );
  });

  test('loaded models are ready, and removed ones are absent', async () => {
    const models = two();
    const { lines } = world(models);
    const ready = async () => (await lines()).filter((line) => line.startsWith('parley_model_ready'));
    expect(await ready()).toEqual(['parley_model_ready{model="a"} 1', 'parley_model_ready{model="b"} 0']);
    models.splice(0, 2, { name: 'b', state: 'ready' });
    expect(await ready()).toEqual(['parley_model_ready{model="b"} 1']);
  });

  test('a model without requests has all values, 0', async () => {
    const { watch, lines } = world(two());
    watch('b');
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'llamacpp:prompt_tokens_total{model="b"} 0',
        'llamacpp:n_tokens_max{model="b"} 0',
        'llamacpp:predicted_tokens_seconds{model="b"} 0',
        'parley_generation_duration_seconds_count{model="b"} 0',
      ]),
    );
  });

  test('a reloaded model continues its values', async () => {
    const { watch, lines } = world(two());
    generate(watch('a'));
    generate(watch('a'));
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'llamacpp:prompt_tokens_total{model="a"} 8',
        'llamacpp:n_decode_total{model="a"} 8',
        'llamacpp:n_tokens_max{model="a"} 13',
      ]),
    );
  });
});

test('metrics: tasks are counted by kind, outcome and duration', async () => {
  const { tasks, lines } = world();
  const job = { kind: 'speech' };
  tasks.begun(job);
  tasks.begun(job);
  expect(await lines()).toContain('parley_tasks_running{kind="speech"} 2');
  tasks.ended(job, 2000, undefined);
  tasks.ended(job, 100, new AppError('stopped', {}));
  tasks.begun({ kind: 'embedding' });
  tasks.ended({ kind: 'embedding' }, 10, new AppError('engine-lost', { capability: 'embedding' }));
  const all = await lines();
  expect(all).toContain('parley_tasks_running{kind="speech"} 0');
  expect(all).toContain('parley_tasks_total{kind="speech",outcome="done"} 1');
  expect(all).toContain('parley_tasks_total{kind="speech",outcome="stopped"} 1');
  expect(all).toContain('parley_tasks_total{kind="embedding",outcome="failed"} 1');
  expect(all).toContain('parley_task_duration_seconds_sum{kind="speech"} 2.1');
});

test('metrics: memory of the GPUs that models use', async () => {
  let gpus = [{ name: 'CUDA0', description: 'a card', freeBytes: 60, totalBytes: 100, heldBytes: 30 }];
  const all = createMetrics({ startedAt: 0, version: '1', gpus: async () => gpus });
  const text = { performance: () => ({}) as Performance, state: (): TextState => ({ type: 'none' }) };
  const lines = async () =>
    (await all.exposition(text)).text.split('\n').filter((line) => line.startsWith('parley_gpu_memory_bytes'));
  expect(await lines()).toEqual([
    'parley_gpu_memory_bytes{card="CUDA0",kind="free"} 60',
    'parley_gpu_memory_bytes{card="CUDA0",kind="total"} 100',
    'parley_gpu_memory_bytes{card="CUDA0",kind="used"} 40',
    'parley_gpu_memory_bytes{card="CUDA0",kind="models"} 30',
  ]);
  gpus = [];
  expect(await lines()).toEqual([]);
});

test('metrics: documents are counted while they are used, and left out otherwise', async () => {
  const totals = { collections: 2, files: 30, passages: 400, waiting: 5 };
  const figures = async (documents?: () => Promise<typeof totals | undefined>) => {
    const lines = await world(undefined, documents).lines();
    return lines.filter((line) => line.startsWith('parley_document_'));
  };
  expect(await figures(async () => totals)).toEqual([
    'parley_document_collections 2',
    'parley_document_files 30',
    'parley_document_passages 400',
    'parley_document_files_waiting 5',
  ]);
  expect(await figures(async () => undefined)).toEqual([]);
  expect(await figures(() => Promise.reject(new Error('in use by another server')))).toEqual([]);
  expect(await figures(() => new Promise(() => undefined))).toEqual([]);
  expect(await figures()).toEqual([]);
});
