import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface ServerFacts {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly version: string;
}

export type MetricFamilies = ReturnType<typeof metricFamilies>;

/** From a quick word to a long story on a slow machine. */
const secondBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** All that is told, by name; what belongs to a model has these labels. */
export function metricFamilies(registry: Registry, labelNames: readonly string[], facts: ServerFacts) {
  return {
    llama: llamaMetrics(registry, labelNames),
    own: ownMetrics(registry, labelNames, facts),
    tasks: taskMetrics(registry),
  };
}

function llamaMetrics(registry: Registry, labelNames: readonly string[]) {
  const make = { registers: [registry], labelNames };
  const counter = (name: string, help: string) => new Counter({ ...make, name: `llamacpp:${name}`, help });
  const gauge = (name: string, help: string) => new Gauge({ ...make, name: `llamacpp:${name}`, help });
  const totals = {
    promptTokens: counter('prompt_tokens_total', 'Prompt tokens that were computed.'),
    cachedTokens: counter('prompt_tokens_cached_total', 'Prompt tokens that came from the cache.'),
    promptSeconds: counter('prompt_seconds_total', 'Time spent on prompts.'),
    predictedTokens: counter('tokens_predicted_total', 'Tokens generated.'),
    predictedSeconds: counter('tokens_predicted_seconds_total', 'Time spent on generating.'),
    decodes: counter('n_decode_total', 'Steps of the engine, estimated from the pieces of text.'),
    longest: counter('n_tokens_max', 'The longest prompt with its reply so far, in tokens.'),
    draftTokens: counter('spec_decode_num_draft_tokens_total', 'Tokens that a draft model proposed.'),
    acceptedTokens: counter('spec_decode_num_accepted_tokens_total', 'Proposed tokens that were taken.'),
  };
  return {
    ...totals,
    totals: Object.values(totals),
    busySlots: gauge('n_busy_slots_per_decode', 'Generations in each step of the engine, on average; estimated.'),
    promptSpeed: gauge('prompt_tokens_seconds', 'Prompt tokens a second in the last generation.'),
    predictedSpeed: gauge('predicted_tokens_seconds', 'Generated tokens a second in the last generation.'),
    processing: gauge('requests_processing', 'Generations that run now.'),
    deferred: new Gauge({
      registers: [registry],
      name: 'llamacpp:requests_deferred',
      help: 'Requests that wait for their turn.',
    }),
  };
}

/** Embeddings, speech, transcriptions: all that is no text. */
function taskMetrics(registry: Registry) {
  const make = { registers: [registry], labelNames: ['kind'] };
  return {
    total: new Counter({
      ...make,
      name: 'parley_tasks_total',
      help: 'Tasks beside text that ended, by their kind and how.',
      labelNames: ['kind', 'outcome'],
    }),
    duration: new Histogram({
      ...make,
      name: 'parley_task_duration_seconds',
      help: 'From the turn of a task to its end.',
      buckets: secondBuckets,
    }),
    running: new Gauge({ ...make, name: 'parley_tasks_running', help: 'Tasks beside text that run now.' }),
  };
}

function ownMetrics(registry: Registry, labelNames: readonly string[], { startedAt, version }: ServerFacts) {
  const make = { registers: [registry] };
  const seconds = { ...make, buckets: secondBuckets };
  new Gauge({ ...make, name: 'parley_info', help: 'The version of the server.', labelNames: ['version'] }).set(
    { version },
    1,
  );
  new Gauge({ ...make, name: 'process_start_time_seconds', help: 'When the server began, in seconds since 1970.' }).set(
    startedAt / 1000,
  );
  return {
    requests: new Counter({
      ...make,
      name: 'parley_requests_total',
      help: 'Generations that ended, by how.',
      labelNames: [...labelNames, 'outcome'],
    }),
    errors: new Counter({
      ...make,
      name: 'parley_errors_total',
      help: 'Generations that failed, by what went wrong.',
      labelNames: [...labelNames, 'code'],
    }),
    droppedTokens: new Counter({
      ...make,
      labelNames,
      name: 'parley_dropped_tokens_total',
      help: 'Prompt tokens that did not fit into the context.',
    }),
    waited: new Histogram({
      ...seconds,
      name: 'parley_queue_wait_seconds',
      help: 'From the admission of work to its turn.',
    }),
    promptDuration: new Histogram({
      ...seconds,
      labelNames,
      name: 'parley_prompt_duration_seconds',
      help: 'From the turn of a request to its first token.',
    }),
    duration: new Histogram({
      ...seconds,
      labelNames,
      name: 'parley_generation_duration_seconds',
      help: 'From the turn of a request to its last token.',
    }),
    estimate: new Gauge({
      ...make,
      name: 'parley_queue_estimate_seconds',
      help: 'How long a request that came now would wait for its turn.',
    }),
    uptime: new Gauge({ ...make, name: 'parley_uptime_seconds', help: 'How long the server has been up.' }),
    modelReady: new Gauge({
      ...make,
      labelNames,
      name: 'parley_model_ready',
      help: '1 when the text model is loaded.',
    }),
    memory: new Gauge({
      ...make,
      name: 'process_resident_memory_bytes',
      help: 'Memory of the server itself; the model lives in a process of its own.',
    }),
  };
}
