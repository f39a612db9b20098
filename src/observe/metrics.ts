import type { AppError } from '../core/errors.ts';
import { type GenerationEvent, unreachable } from '../core/events.ts';
import type { ListedModel } from '../core/models-view.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { Performance, TextState } from '../core/text-service.ts';
import { Counter, exposition, expositionType, type Figure, Gauge, Histogram, type Labels } from './figures.ts';

export interface MetricsParts extends ServerFacts {
  /** All models where there may be several: then each figure of a model says whose it is. */
  readonly models?: (() => Promise<readonly Pick<ListedModel, 'name' | 'state'>[]>) | undefined;
}

/** What is looked at for the figures that are not counted. */
export type MeasuredText = {
  readonly performance: () => Performance;
  readonly state: () => TextState;
};

export interface Metrics {
  /** Counts what a model does; its draft figures are read at the end of each generation. */
  watch(model: string, text: () => Pick<MeasuredText, 'performance'>): ModelMetrics;
  /** Counts what is done beside text. */
  readonly tasks: TaskMetrics;
  /** The Prometheus text of this moment, with its content type; the queue is that of the model that answers. */
  exposition(text: MeasuredText): Promise<{ readonly contentType: string; readonly text: string }>;
}

export interface TaskMetrics {
  turnCame(waited: number): void;
  begun(job: { readonly kind: string }): void;
  ended(job: { readonly kind: string }, milliseconds: number, error: AppError | undefined): void;
}

export interface ModelMetrics {
  turnCame(waited: number): void;
  begun(request: GenerationRequest, job: object): void;
  event(event: GenerationEvent, job: object): void;
}

/**
 * The figures that llama.cpp's server tells under their usual names, so that existing boards show them, and ours beside
 * them. Everything comes from the events of the generations; nothing here may fail or wait.
 */
export function createMetrics(parts: MetricsParts): Metrics {
  const all = metricFamilies(parts);
  const counts = new Map<string, ModelCount>();

  async function setReady({ state }: MeasuredText): Promise<void> {
    const { modelReady } = all.own;
    if (!parts.models) return modelReady.set({}, state().type === 'ready' ? 1 : 0);
    const models = await parts.models();
    // Those that are gone are not told any more.
    modelReady.forget();
    for (const { name, state: own } of models) modelReady.set({ model: name }, own === 'ready' ? 1 : 0);
  }

  return {
    watch(model, text) {
      // A model that comes back under its name goes on counting where it stopped.
      const count = counts.get(model) ?? new ModelCount(all, parts.models ? { model } : {});
      counts.set(model, count);
      return {
        turnCame: (waited) => all.own.waited.observe({}, waited / 1000),
        begun: (_, job) => count.begun(job),
        event: (event, job) => count.event(event, job, text),
      };
    },
    tasks: {
      turnCame: (waited) => all.own.waited.observe({}, waited / 1000),
      begun: ({ kind }) => all.tasks.running.change({ kind }, 1),
      ended: ({ kind }, milliseconds, error) => {
        all.tasks.running.change({ kind }, -1);
        all.tasks.total.increase({ kind, outcome: outcomeOf(error) });
        all.tasks.duration.observe({ kind }, milliseconds / 1000);
      },
    },
    async exposition(text) {
      const { waiting, estimateSeconds, uptimeSeconds } = text.performance();
      for (const count of counts.values()) count.tell();
      all.llama.deferred.set({}, waiting);
      all.own.estimate.set({}, estimateSeconds);
      all.own.uptime.set({}, uptimeSeconds);
      all.own.memory.set({}, process.memoryUsage.rss());
      await setReady(text);
      return { contentType: expositionType, text: exposition(all.all) };
    },
  };
}

function outcomeOf(error: AppError | undefined): string {
  if (!error) return 'done';
  return error.code === 'stopped' ? 'stopped' : 'failed';
}

/** The figures of one model. */
class ModelCount {
  readonly #running = new Set<object>();
  /** The engine does not tell its steps; a token of one of k generations at once stands for 1/k of a step. */
  #steps = 0;
  #sequences = 0;
  readonly #decodes: HighWater;
  readonly #longest: HighWater;

  constructor(
    private readonly all: MetricFamilies,
    private readonly labels: Labels,
  ) {
    const { llama, own } = all;
    this.#decodes = new HighWater(llama.decodes, labels);
    this.#longest = new HighWater(llama.longest, labels);
    // All are there from the beginning: a board that finds none of them shows nothing.
    for (const counter of [...llama.totals, own.droppedTokens]) counter.increase(labels, 0);
    for (const speed of [llama.promptSpeed, llama.predictedSpeed]) speed.set(labels, 0);
    for (const durations of [own.promptDuration, own.duration]) durations.begin(labels);
  }

  begun(job: object): void {
    this.#running.add(job);
  }

  event(event: GenerationEvent, job: object, text: () => Pick<MeasuredText, 'performance'>): void {
    const { own } = this.all;
    switch (event.type) {
      case 'finish':
        this.#finished(event, text().performance());
        this.#running.delete(job);
        return;
      case 'error':
        this.#running.delete(job);
        own.requests.increase({ ...this.labels, outcome: 'error' });
        own.errors.increase({ ...this.labels, code: event.error.code });
        return;
      case 'start':
        own.droppedTokens.increase(this.labels, event.droppedTokens ?? 0);
        return;
      case 'text-delta':
      case 'reasoning-delta':
        this.#stepped();
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
  }

  /** Sets what is known only when somebody looks. */
  tell(): void {
    const { llama } = this.all;
    llama.processing.set(this.labels, this.#running.size);
    llama.busySlots.set(this.labels, this.#steps > 0 ? this.#sequences / this.#steps : 0);
    this.#decodes.reach(Math.round(this.#steps));
  }

  #stepped(): void {
    this.#steps += 1 / Math.max(1, this.#running.size);
    this.#sequences += 1;
  }

  #finished(event: GenerationEvent & { type: 'finish' }, performance: Performance): void {
    const { usage, timings } = event;
    const { labels } = this;
    const { llama, own } = this.all;
    const { draftAccepted, draftRejected } = performance;
    llama.promptTokens.increase(labels, timings.processedTokens);
    llama.cachedTokens.increase(labels, usage.cachedTokens);
    llama.promptSeconds.increase(labels, timings.promptMs / 1000);
    llama.predictedTokens.increase(labels, usage.completionTokens);
    llama.predictedSeconds.increase(labels, timings.generationMs / 1000);
    if (timings.processedTokens > 0) this.#stepped();
    this.#longest.reach(usage.promptTokens + usage.completionTokens);
    llama.draftTokens.increase(labels, draftAccepted + draftRejected);
    llama.acceptedTokens.increase(labels, draftAccepted);
    llama.promptSpeed.set(labels, perSecond(timings.processedTokens, timings.promptMs));
    llama.predictedSpeed.set(labels, perSecond(usage.completionTokens, timings.generationMs));
    own.requests.increase({ ...labels, outcome: event.reason });
    own.promptDuration.observe(labels, (timings.initMs + timings.promptMs) / 1000);
    own.duration.observe(labels, (timings.initMs + timings.promptMs + timings.generationMs) / 1000);
  }
}

/** A counter that never falls and knows only the highest value; scrapers expect a counter under this name. */
class HighWater {
  #highest = 0;

  constructor(
    private readonly counter: Counter,
    private readonly labels: Labels,
  ) {}

  reach(value: number): void {
    if (value <= this.#highest) return;
    this.counter.increase(this.labels, value - this.#highest);
    this.#highest = value;
  }
}

function perSecond(tokens: number, milliseconds: number): number {
  return milliseconds > 0 ? (tokens * 1000) / milliseconds : 0;
}

interface ServerFacts {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly version: string;
}

type MetricFamilies = ReturnType<typeof metricFamilies>;

/** From a quick word to a long story on a slow machine. */
const secondBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** All that is told, by name. */
function metricFamilies(facts: ServerFacts) {
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
