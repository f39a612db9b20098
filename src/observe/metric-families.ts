import { Counter, type Figure, Gauge, Histogram } from './figures.ts';

export interface ServerFacts {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly version: string;
}

export type MetricFamilies = ReturnType<typeof metricFamilies>;

/** From a quick word to a long story on a slow machine. */
const secondBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** All that is told, by name. */
export function metricFamilies(facts: ServerFacts) {
  const all: Figure[] = [];
  const told = <Kind extends Figure>(figure: Kind): Kind => {
    all.push(figure);
    return figure;
  };
  const make: Make = {
    counter: (name, help) => told(new Counter({ name, help })),
    gauge: (name, help) => told(new Gauge({ name, help })),
    seconds: (name, help) => told(new Histogram({ name, help }, secondBuckets)),
  };
  return { llama: llamaMetrics(make), own: ownMetrics(make, facts), tasks: taskMetrics(make), all };
}

interface Make {
  readonly counter: (name: string, help: string) => Counter;
  readonly gauge: (name: string, help: string) => Gauge;
  readonly seconds: (name: string, help: string) => Histogram;
}

function llamaMetrics(make: Make) {
  const counter = (name: string, help: string) => make.counter(`llamacpp:${name}`, help);
  const gauge = (name: string, help: string) => make.gauge(`llamacpp:${name}`, help);
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
    deferred: gauge('requests_deferred', 'Requests that wait for their turn.'),
  };
}

/** Embeddings, speech, transcriptions: all that is no text. */
function taskMetrics({ counter, gauge, seconds }: Make) {
  return {
    total: counter('parley_tasks_total', 'Tasks beside text that ended, by their kind and how.'),
    duration: seconds('parley_task_duration_seconds', 'From the turn of a task to its end.'),
    running: gauge('parley_tasks_running', 'Tasks beside text that run now.'),
  };
}

function ownMetrics({ counter, gauge, seconds }: Make, { startedAt, version }: ServerFacts) {
  gauge('parley_info', 'The version of the server.').set({ version }, 1);
  gauge('process_start_time_seconds', 'When the server began, in seconds since 1970.').set({}, startedAt / 1000);
  const waited = seconds('parley_queue_wait_seconds', 'From the admission of work to its turn.');
  waited.begin({});
  return {
    requests: counter('parley_requests_total', 'Generations that ended, by how.'),
    errors: counter('parley_errors_total', 'Generations that failed, by what went wrong.'),
    droppedTokens: counter('parley_dropped_tokens_total', 'Prompt tokens that did not fit into the context.'),
    waited,
    promptDuration: seconds('parley_prompt_duration_seconds', 'From the turn of a request to its first token.'),
    duration: seconds('parley_generation_duration_seconds', 'From the turn of a request to its last token.'),
    estimate: gauge('parley_queue_estimate_seconds', 'How long a request that came now would wait for its turn.'),
    uptime: gauge('parley_uptime_seconds', 'How long the server has been up.'),
    modelReady: gauge('parley_model_ready', '1 when the text model is loaded.'),
    memory: gauge(
      'process_resident_memory_bytes',
      'Memory of the server itself; the model lives in a process of its own.',
    ),
  };
}
