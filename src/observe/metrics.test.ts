import { expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { Performance } from '../core/text-service.ts';
import { createMetrics } from './metrics.ts';

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

function world() {
  const performance = {
    waiting: 2,
    estimateSeconds: 12,
    uptimeSeconds: 9,
    draftAccepted: 1,
    draftRejected: 2,
  } as Performance;
  const metrics = createMetrics({
    performance: () => performance,
    state: () => ({ type: 'none' }),
    startedAt: 1000,
    version: '1.2.3',
  });
  const lines = async () => (await metrics.exposition()).text.split('\n');
  return { metrics, lines };
}

test('a generation is counted under the names that boards for llama.cpp know', async () => {
  const { metrics, lines } = world();
  const job = {};
  metrics.begun(request, job);
  for (const event of [start, word, word, word, finish]) metrics.event(event, job);
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

test('what runs is counted until it ends, however it does', async () => {
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

test('two at once share their steps', async () => {
  const { metrics, lines } = world();
  const [first, second] = [{}, {}];
  metrics.begun(request, first);
  metrics.begun(request, second);
  for (const job of [first, second, first, second]) metrics.event(word, job);
  expect(await lines()).toEqual(
    expect.arrayContaining(['llamacpp:n_decode_total 2', 'llamacpp:n_busy_slots_per_decode 2']),
  );
});

test('one server knows nothing of another', async () => {
  const { metrics } = world();
  metrics.event(finish, {});
  expect(await world().lines()).toContain('llamacpp:tokens_predicted_total 0');
  expect((await metrics.exposition()).contentType).toContain('version=0.0.4');
});

test('it tells how long work waited for its turn, and how long it would wait now', async () => {
  const { metrics, lines } = world();
  metrics.turnCame(0);
  metrics.turnCame(7000);
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'parley_queue_wait_seconds_bucket{le="0.05"} 1',
      'parley_queue_wait_seconds_bucket{le="10"} 2',
      'parley_queue_wait_seconds_sum 7',
      'parley_queue_estimate_seconds 12',
    ]),
  );
});
