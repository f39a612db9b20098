import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type GenerationEvent, unreachable } from '../core/events.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { Performance, TextState } from '../core/text-service.ts';

export interface MetricsParts {
  /** Read when somebody looks, and at the end of each generation. */
  readonly performance: () => Performance;
  readonly state: () => TextState;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly version: string;
}

export interface Metrics {
  turnCame(waited: number): void;
  begun(request: GenerationRequest, job: object): void;
  event(event: GenerationEvent, job: object): void;
  /** The Prometheus text of this moment, with its content type. */
  exposition(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** From a quick word to a long story on a slow machine. */
const secondBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/**
 * The figures that llama.cpp's server tells under their usual names, so that existing boards show them, and ours beside
 * them. Everything comes from the events of the generations; nothing here may fail or wait.
 */
export function createMetrics(parts: MetricsParts): Metrics {
  const registry = new Registry();
  const llama = llamaMetrics(registry);
  const own = ownMetrics(registry, parts);
  const running = new Set<object>();
  /** The engine does not tell its steps; a token of one of k generations at once stands for 1/k of a step. */
  let steps = 0;
  let sequences = 0;

  function stepped(): void {
    steps += 1 / Math.max(1, running.size);
    sequences += 1;
  }

  function finished(event: GenerationEvent & { type: 'finish' }): void {
    const { usage, timings } = event;
    const { draftAccepted, draftRejected } = parts.performance();
    llama.promptTokens.inc(timings.processedTokens);
    llama.cachedTokens.inc(usage.cachedTokens);
    llama.promptSeconds.inc(timings.promptMs / 1000);
    llama.predictedTokens.inc(usage.completionTokens);
    llama.predictedSeconds.inc(timings.generationMs / 1000);
    if (timings.processedTokens > 0) stepped();
    llama.longest.reach(usage.promptTokens + usage.completionTokens);
    llama.draftTokens.inc(draftAccepted + draftRejected);
    llama.acceptedTokens.inc(draftAccepted);
    llama.promptSpeed.set(perSecond(timings.processedTokens, timings.promptMs));
    llama.predictedSpeed.set(perSecond(usage.completionTokens, timings.generationMs));
    own.requests.inc({ outcome: event.reason });
    own.promptDuration.observe((timings.initMs + timings.promptMs) / 1000);
    own.duration.observe((timings.initMs + timings.promptMs + timings.generationMs) / 1000);
  }

  return {
    turnCame: (waited) => own.waited.observe(waited / 1000),
    begun: (_, job) => void running.add(job),
    event(event, job) {
      switch (event.type) {
        case 'finish':
          finished(event);
          running.delete(job);
          return;
        case 'error':
          running.delete(job);
          own.requests.inc({ outcome: 'error' });
          own.errors.inc({ code: event.error.code });
          return;
        case 'start':
          own.droppedTokens.inc(event.droppedTokens ?? 0);
          return;
        case 'text-delta':
        case 'reasoning-delta':
          stepped();
          return;
        case 'prompt-logprobs':
        case 'tool-start':
        case 'tool-delta':
        case 'tool-end':
        case 'warning':
          return;
        default:
          unreachable(event);
      }
    },
    async exposition() {
      const { waiting, estimateSeconds, uptimeSeconds } = parts.performance();
      llama.processing.set(running.size);
      llama.deferred.set(waiting);
      llama.decodes.reach(Math.round(steps));
      llama.busySlots.set(steps > 0 ? sequences / steps : 0);
      own.estimate.set(estimateSeconds);
      own.uptime.set(uptimeSeconds);
      own.modelReady.set(parts.state().type === 'ready' ? 1 : 0);
      own.memory.set(process.memoryUsage.rss());
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

function llamaMetrics(registry: Registry) {
  const make = { registers: [registry] };
  const counter = (name: string, help: string) => new Counter({ ...make, name: `llamacpp:${name}`, help });
  const gauge = (name: string, help: string) => new Gauge({ ...make, name: `llamacpp:${name}`, help });
  return {
    promptTokens: counter('prompt_tokens_total', 'Prompt tokens that were computed.'),
    cachedTokens: counter('prompt_tokens_cached_total', 'Prompt tokens that came from the cache.'),
    promptSeconds: counter('prompt_seconds_total', 'Time spent on prompts.'),
    predictedTokens: counter('tokens_predicted_total', 'Tokens generated.'),
    predictedSeconds: counter('tokens_predicted_seconds_total', 'Time spent on generating.'),
    decodes: highWater(counter('n_decode_total', 'Steps of the engine, estimated from the pieces of text.')),
    busySlots: gauge('n_busy_slots_per_decode', 'Generations in each step of the engine, on average; estimated.'),
    longest: highWater(counter('n_tokens_max', 'The longest prompt with its reply so far, in tokens.')),
    draftTokens: counter('spec_decode_num_draft_tokens_total', 'Tokens that a draft model proposed.'),
    acceptedTokens: counter('spec_decode_num_accepted_tokens_total', 'Proposed tokens that were taken.'),
    promptSpeed: gauge('prompt_tokens_seconds', 'Prompt tokens a second in the last generation.'),
    predictedSpeed: gauge('predicted_tokens_seconds', 'Generated tokens a second in the last generation.'),
    processing: gauge('requests_processing', 'Generations that run now.'),
    deferred: gauge('requests_deferred', 'Requests that wait for their turn.'),
  };
}

function ownMetrics(registry: Registry, { startedAt, version }: MetricsParts) {
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
      labelNames: ['outcome'],
    }),
    errors: new Counter({
      ...make,
      name: 'parley_errors_total',
      help: 'Generations that failed, by what went wrong.',
      labelNames: ['code'],
    }),
    droppedTokens: new Counter({
      ...make,
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
      name: 'parley_prompt_duration_seconds',
      help: 'From the turn of a request to its first token.',
    }),
    duration: new Histogram({
      ...seconds,
      name: 'parley_generation_duration_seconds',
      help: 'From the turn of a request to its last token.',
    }),
    estimate: new Gauge({
      ...make,
      name: 'parley_queue_estimate_seconds',
      help: 'How long a request that came now would wait for its turn.',
    }),
    uptime: new Gauge({ ...make, name: 'parley_uptime_seconds', help: 'How long the server has been up.' }),
    modelReady: new Gauge({ ...make, name: 'parley_model_ready', help: '1 when the text model is loaded.' }),
    memory: new Gauge({
      ...make,
      name: 'process_resident_memory_bytes',
      help: 'Memory of the server itself; the model lives in a process of its own.',
    }),
  };
}

/** A counter that never falls and knows only the highest value; scrapers expect a counter under this name. */
function highWater(counter: Counter): { reach(value: number): void } {
  let highest = 0;
  return {
    reach(value) {
      if (value <= highest) return;
      counter.inc(value - highest);
      highest = value;
    },
  };
}

function perSecond(tokens: number, milliseconds: number): number {
  return milliseconds > 0 ? (tokens * 1000) / milliseconds : 0;
}
