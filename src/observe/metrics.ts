import type { DocumentTotals } from '../core/documents.ts';
import type { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import type { GpuUse } from '../core/gpu-memory.ts';
import type { ListedModel } from '../core/models-view.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { Performance, TextService } from '../core/text-service.ts';
import { type StartTimer, systemTimer } from '../core/timers.ts';
import { type ExchangeRecord, perSecond, tokenGapSeconds } from './exchange-record.ts';
import {
  type Counter,
  exposition,
  expositionType,
  type Gauge,
  Histogram,
  type Labels,
  NumberMetric,
} from './prometheus.ts';

interface ServerFacts {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly version: string;
}

interface MetricsOptions extends ServerFacts {
  /** Spans of `--trace` so far, by whether the collector got them. */
  readonly spans?: (() => Readonly<Record<string, number>>) | undefined;
  /** The GPUs that loaded models use. */
  readonly gpus?: (() => Promise<readonly GpuUse[]>) | undefined;
  /** Of all clients; undefined unless documents were used. */
  readonly documents?: (() => Promise<DocumentTotals | undefined>) | undefined;
  readonly startTimer?: StartTimer;
  /** All models, if there may be several: then each metric of a model has its name as a label. */
  readonly models?: (() => Promise<readonly Pick<ListedModel, 'name' | 'state'>[]>) | undefined;
}

/** A scrape waits for at most this long for what another process counts. */
const maxWaitMs = 1000;

/** Undefined if it fails, or takes too long. */
function answeredInTime<Value>(
  ask: () => Promise<Value> | undefined,
  startTimer: StartTimer,
): Promise<Value | undefined> {
  return new Promise((resolve) => {
    const timer = startTimer(maxWaitMs, () => resolve(undefined));
    void Promise.resolve(ask())
      .then(resolve, () => resolve(undefined))
      .finally(() => timer.cancel());
  });
}

type Measured = Pick<TextService, 'performance'>;
type Task = { readonly kind: string };

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * The metrics of llama.cpp's server under their usual names, so that existing dashboards work, and Parley's own. All are
 * derived from events; nothing here may throw or block.
 */
export function createMetrics(options: MetricsOptions) {
  const all = metricFamilies(options);
  const counts = new Map<string, ModelCount>();

  async function setReady({ state }: Pick<TextService, 'state'>): Promise<void> {
    const { modelReady } = all.own;
    if (!options.models) return modelReady.set({}, state().type === 'ready' ? 1 : 0);
    const models = await options.models();
    // Drops removed models.
    modelReady.reset();
    for (const { name, state: own } of models) modelReady.set({ model: name }, own === 'ready' ? 1 : 0);
  }

  async function setGpus(): Promise<void> {
    const gpus = (await options.gpus?.()) ?? [];
    // Drops GPUs that no model uses any more.
    all.own.gpuMemory.reset();
    for (const { name, freeBytes, totalBytes, heldBytes } of gpus) {
      const figures = { free: freeBytes, total: totalBytes, used: totalBytes - freeBytes, models: heldBytes };
      for (const [kind, bytes] of Object.entries(figures)) all.own.gpuMemory.set({ card: name, kind }, bytes);
    }
  }

  async function setDocuments(): Promise<void> {
    // Not known while their process is not to be had, or does not answer.
    const totals = await answeredInTime(() => options.documents?.(), options.startTimer ?? systemTimer);
    for (const [name, gauge] of Object.entries(all.documents)) {
      gauge.reset();
      if (totals) gauge.set({}, totals[name as keyof DocumentTotals]);
    }
  }

  const dequeued = (waited: number) => all.own.waited.observe({}, waited / 1000);

  return {
    /** Counts what a model does; its draft figures are read at the end of each generation. */
    watch(model: string, text: () => Measured) {
      // A model that returns under its name continues its counts.
      const count = counts.get(model) ?? new ModelCount(all, options.models ? { model } : {});
      counts.set(model, count);
      return {
        dequeued,
        begun: (_: GenerationRequest, job: object) => count.begun(job),
        event: (event: GenerationEvent, job: object) => count.event(event, job, text),
      };
    },
    /** Counts the work of the other engine kinds. */
    tasks: {
      dequeued,
      begun: ({ kind }: Task) => all.tasks.running.inc({ kind }),
      ended: ({ kind }: Task, milliseconds: number, error: AppError | undefined) => {
        all.tasks.running.inc({ kind }, -1);
        all.tasks.total.inc({ kind, outcome: outcomeOf(error) });
        all.tasks.duration.observe({ kind }, milliseconds / 1000);
      },
    },
    /** Counts an HTTP request that is over. */
    exchange: (record: ExchangeRecord) => countExchange(all.exchanges, record),
    /** The Prometheus text of this moment, with its content type; the queue is that of the given model. */
    async exposition(text: Pick<TextService, 'performance' | 'state'>) {
      const performance = text.performance();
      for (const count of counts.values()) count.update();
      // With several models, each has its figures after its last generation.
      if (!options.models) setEngineFigures(all.own, {}, performance);
      all.llama.deferred.set({}, performance.waiting);
      all.own.estimate.set({}, performance.estimateSeconds);
      all.own.uptime.set({}, performance.uptimeSeconds);
      all.own.memory.set({}, process.memoryUsage.rss());
      for (const [outcome, count] of Object.entries(options.spans?.() ?? {})) all.spans.raiseTo({ outcome }, count);
      await Promise.all([setReady(text), setGpus(), setDocuments()]);
      return { contentType: expositionType, text: exposition(all.all) };
    },
  };
}

function outcomeOf(error: AppError | undefined): string {
  if (!error) return 'done';
  return error.code === 'stopped' ? 'stopped' : 'failed';
}

class ModelCount {
  readonly #running = new Set<object>();
  /** Estimated, as the engine does not report its steps: a token of one of k parallel generations counts as 1/k. */
  #steps = 0;
  #sequences = 0;

  constructor(
    private readonly all: MetricFamilies,
    private readonly labels: Labels,
  ) {
    const { llama, own } = all;
    // All are visible from the start: dashboards show nothing for missing metrics.
    for (const counter of [...llama.totals, own.droppedTokens]) counter.inc(labels, 0);
    for (const speed of [llama.promptSpeed, llama.predictedSpeed]) speed.set(labels, 0);
    for (const durations of [own.promptDuration, own.duration]) durations.zero(labels);
  }

  begun(job: object): void {
    this.#running.add(job);
  }

  event(event: GenerationEvent, job: object, text: () => Measured): void {
    const { own } = this.all;
    switch (event.type) {
      case 'finish':
        this.#finished(event, text().performance());
        this.#running.delete(job);
        return;
      case 'error':
        this.#running.delete(job);
        own.requests.inc({ ...this.labels, outcome: 'error' });
        own.errors.inc({ ...this.labels, code: event.error.code });
        return;
      case 'start':
        own.droppedTokens.inc(this.labels, event.droppedTokens ?? 0);
        return;
      case 'text-delta':
      case 'reasoning-delta':
        this.#stepped();
        return;
    }
  }

  /** Sets the gauges that are read on demand. */
  update(): void {
    const { llama } = this.all;
    llama.processing.set(this.labels, this.#running.size);
    llama.busySlots.set(this.labels, this.#steps > 0 ? this.#sequences / this.#steps : 0);
    llama.decodes.raiseTo(this.labels, Math.round(this.#steps));
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
    llama.promptTokens.inc(labels, timings.processedTokens);
    llama.cachedTokens.inc(labels, usage.cachedTokens);
    llama.promptSeconds.inc(labels, timings.promptMs / 1000);
    llama.predictedTokens.inc(labels, usage.completionTokens);
    llama.predictedSeconds.inc(labels, timings.generationMs / 1000);
    if (timings.processedTokens > 0) this.#stepped();
    llama.longest.raiseTo(labels, usage.promptTokens + usage.completionTokens);
    llama.draftTokens.inc(labels, draftAccepted + draftRejected);
    llama.acceptedTokens.inc(labels, draftAccepted);
    llama.promptSpeed.set(labels, perSecond(timings.processedTokens, timings.promptMs) ?? 0);
    llama.predictedSpeed.set(labels, perSecond(usage.completionTokens, timings.generationMs) ?? 0);
    setEngineFigures(own, labels, performance);
    own.requests.inc({ ...labels, outcome: event.reason });
    own.promptDuration.observe(labels, (timings.initMs + timings.promptMs) / 1000);
    own.duration.observe(labels, (timings.initMs + timings.promptMs + timings.generationMs) / 1000);
  }
}

/** What the engine counts itself, as far as it does. */
function setEngineFigures(own: OwnMetrics, labels: Labels, { steps, threads, snapshots, pool }: Performance): void {
  if (steps) {
    const { computeMs, sampleMs, totalMs } = steps;
    own.steps.raiseTo(labels, steps.steps);
    own.stepRows.raiseTo(labels, steps.rows);
    const phases = { compute: computeMs, sample: sampleMs, other: Math.max(0, totalMs - computeMs - sampleMs) };
    for (const [phase, ms] of Object.entries(phases)) own.stepSeconds.raiseTo({ ...labels, phase }, ms / 1000);
  }
  if (threads) {
    own.threads.set({ ...labels, phase: 'decode' }, threads.decode);
    own.threads.set({ ...labels, phase: 'prefill' }, threads.prefill);
    own.threadChanges.raiseTo(labels, threads.changes);
  }
  if (snapshots) {
    own.snapshots.set(labels, snapshots.snapshots);
    own.snapshotBytes.set({ ...labels, kind: 'used' }, snapshots.bytes);
    own.snapshotBytes.set({ ...labels, kind: 'limit' }, snapshots.limitBytes ?? 0);
  }
  if (pool) {
    own.poolCells.set({ ...labels, kind: 'used' }, pool.cells);
    own.poolCells.set({ ...labels, kind: 'limit' }, pool.capacity);
    own.poolWaiting.set(labels, pool.waiting);
  }
}

type MetricFamilies = ReturnType<typeof metricFamilies>;

/** From a few tokens to a long story on a slow machine. */
const secondBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

type Listed = NumberMetric | Histogram;

/** Creates metrics; `all` is their order in the exposition. */
class Make {
  readonly all: Listed[] = [];

  counter = (name: string, help: string): Counter => this.#added(new NumberMetric(name, help, 'counter'));
  gauge = (name: string, help: string): Gauge => this.#added(new NumberMetric(name, help, 'gauge'));
  seconds = (name: string, help: string): Histogram => this.histogram(name, help, secondBuckets);
  histogram = (name: string, help: string, bounds: readonly number[]): Histogram =>
    this.#added(new Histogram(name, help, bounds));

  #added<Metric extends Listed>(metric: Metric): Metric {
    this.all.push(metric);
    return metric;
  }
}

function metricFamilies(facts: ServerFacts) {
  const make = new Make();
  return {
    llama: llamaMetrics(make),
    own: ownMetrics(make, facts),
    tasks: {
      total: make.counter('parley_tasks_total', 'Tasks beside text that ended, by their kind and how.'),
      duration: make.seconds('parley_task_duration_seconds', 'From the turn of a task to its end.'),
      running: make.gauge('parley_tasks_running', 'Tasks beside text that run now.'),
    },
    exchanges: exchangeMetrics(make),
    documents: {
      collections: make.gauge('parley_document_collections', 'Collections of documents; missing while none were used.'),
      files: make.gauge('parley_document_files', 'Files in all collections.'),
      passages: make.gauge('parley_document_passages', 'Passages that can be found in them.'),
      waiting: make.gauge('parley_document_files_waiting', 'Files that are still to be indexed.'),
    } satisfies Record<keyof DocumentTotals, Gauge>,
    spans: make.counter('parley_trace_spans_total', 'Spans of --trace, by whether the collector got them.'),
    all: make.all,
  };
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

type OwnMetrics = ReturnType<typeof ownMetrics>;

function ownMetrics({ counter, gauge, seconds }: Make, { startedAt, version }: ServerFacts) {
  gauge('parley_info', 'The version of the server.').set({ version }, 1);
  gauge('process_start_time_seconds', 'When the server began, in seconds since 1970.').set({}, startedAt / 1000);
  const waited = seconds('parley_queue_wait_seconds', 'From the admission of work to its turn.');
  waited.zero({});
  return {
    requests: counter('parley_requests_total', 'Generations that ended, by how.'),
    errors: counter('parley_errors_total', 'Generations that failed, by what went wrong.'),
    droppedTokens: counter('parley_dropped_tokens_total', 'Prompt tokens that did not fit into the context.'),
    waited,
    promptDuration: seconds('parley_prompt_duration_seconds', 'From the turn of a request to its first token.'),
    duration: seconds('parley_generation_duration_seconds', 'From the turn of a request to its last token.'),
    estimate: gauge('parley_queue_estimate_seconds', 'How long a request that came now would wait for its turn.'),
    uptime: gauge('parley_uptime_seconds', 'How long the server has been up.'),
    steps: counter('parley_steps_total', 'Steps of the text engine on this machine.'),
    stepRows: counter('parley_step_rows_total', 'Tokens that were computed in these steps, of prompts and replies.'),
    stepSeconds: counter('parley_step_seconds_total', 'Time of the steps: computing, sampling, and all else.'),
    threads: gauge(
      'parley_threads',
      'Threads that compute replies (decode) and prompts (prefill); fewer while the processor is busy.',
    ),
    threadChanges: counter('parley_thread_changes_total', 'How often the number of threads was changed.'),
    snapshots: gauge('parley_snapshots', 'Chats in memory that other requests replaced in the cache (--smartcache).'),
    snapshotBytes: gauge('parley_snapshot_bytes', 'Memory that these take (used), and may take now (limit).'),
    poolCells: gauge(
      'parley_kv_pool_cells',
      'Cells of the KV cache that parallel requests share (--kvpool): used, and all (limit).',
    ),
    poolWaiting: gauge('parley_kv_pool_waiting', 'Requests that wait for room in this cache.'),
    modelReady: gauge('parley_model_ready', '1 when the text model is loaded.'),
    gpuMemory: gauge(
      'parley_gpu_memory_bytes',
      'Memory of the graphics cards that loaded models use: free, total, used by all programs, and taken by models here.',
    ),
    memory: gauge(
      'process_resident_memory_bytes',
      'Memory of the server itself; the model lives in a process of its own.',
    ),
  };
}

/** Of requests that only look something up, up to long stories. */
const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const firstTokenSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300];
const waitSeconds = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const promptSpeeds = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000];
const replySpeeds = [1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000];

/** The metrics of HTTP requests. All have the labels `family`, `status` and `outcome`, of which there are few values. */
function exchangeMetrics({ counter, histogram }: Make) {
  return {
    requests: counter('parley_http_requests_total', 'HTTP requests that ended.'),
    duration: histogram(
      'parley_http_request_duration_seconds',
      'From the head of a request to the last byte of its response.',
      requestSeconds,
    ),
    firstToken: histogram(
      'parley_time_to_first_token_seconds',
      'From the head of a request to the first token of its reply.',
      firstTokenSeconds,
    ),
    betweenTokens: histogram(
      'parley_time_between_tokens_seconds',
      'From one token of a reply to the next.',
      tokenGapSeconds,
    ),
    queueWait: histogram(
      'parley_http_request_queue_seconds',
      'How long a request waited in the queue, all its jobs together.',
      waitSeconds,
    ),
    promptSpeed: histogram(
      'parley_prompt_tokens_per_second',
      'Speed of each prompt, without what was cached.',
      promptSpeeds,
    ),
    replySpeed: histogram('parley_reply_tokens_per_second', 'Speed of each reply.', replySpeeds),
  };
}

type ExchangeMetrics = ReturnType<typeof exchangeMetrics>;

/** Counts a request that is over. Its tokens were counted by the record; here they are only added up. */
function countExchange(metrics: ExchangeMetrics, record: ExchangeRecord): void {
  const labels = labelsOf(record);
  metrics.requests.inc(labels);
  metrics.duration.observe(labels, record.durationMs / 1000);
  if (record.firstTokenMs !== undefined) metrics.firstToken.observe(labels, record.firstTokenMs / 1000);
  if (record.queueMs !== undefined) metrics.queueWait.observe(labels, record.queueMs / 1000);
  if (record.gaps) metrics.betweenTokens.add(labels, record.gaps.counts, record.gaps.sumMs / 1000);
  for (const speed of record.promptSpeeds) metrics.promptSpeed.observe(labels, speed);
  for (const speed of record.replySpeeds) metrics.replySpeed.observe(labels, speed);
}

/** A request of no endpoint is of the family `none`; one whose client left before the response has the status `none`. */
function labelsOf({ head, status, outcome }: ExchangeRecord): Labels {
  return { family: head.family || 'none', status: status === undefined ? 'none' : String(status), outcome };
}

/** Name, type and help of every metric, for the documentation. */
export function metricList(): readonly Pick<Listed, 'name' | 'type' | 'help'>[] {
  return metricFamilies({ startedAt: 0, version: '' }).all;
}
