import type { CardUse } from '../core/card-memory.ts';
import type { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import type { ListedModel } from '../core/models-view.ts';
import type { GenerationRequest } from '../core/request.ts';
import type {
  Performance,
  PoolFigures,
  SnapshotFigures,
  StepTimes,
  TextService,
  ThreadUse,
} from '../core/text-service.ts';
import { type StartTimer, systemTimer } from '../core/timers.ts';
import { countExchange, exchangeMetrics } from './exchange-metrics.ts';
import type { ExchangeRecord } from './exchange-record.ts';
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

interface MetricsParts extends ServerFacts {
  /** Spans of `--trace` so far, by whether the collector got them. */
  readonly spans?: (() => Readonly<Record<string, number>>) | undefined;
  /** The graphics cards that loaded models use. */
  readonly cards?: (() => Promise<readonly CardUse[]>) | undefined;
  /** Of all clients; undefined unless documents were used. */
  readonly documents?: (() => Promise<DocumentTotals | undefined>) | undefined;
  readonly startTimer?: StartTimer;
  /** All models, if there may be several: then each metric of a model has its name as a label. */
  readonly models?: (() => Promise<readonly Pick<ListedModel, 'name' | 'state'>[]>) | undefined;
}

interface DocumentTotals {
  readonly collections: number;
  readonly files: number;
  readonly passages: number;
  readonly waiting: number;
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
export function createMetrics(parts: MetricsParts) {
  const all = metricFamilies(parts);
  const counts = new Map<string, ModelCount>();

  async function setReady({ state }: Pick<TextService, 'state'>): Promise<void> {
    const { modelReady } = all.own;
    if (!parts.models) return modelReady.set({}, state().type === 'ready' ? 1 : 0);
    const models = await parts.models();
    // Drops removed models.
    modelReady.reset();
    for (const { name, state: own } of models) modelReady.set({ model: name }, own === 'ready' ? 1 : 0);
  }

  async function setCards(): Promise<void> {
    const cards = (await parts.cards?.()) ?? [];
    // Drops cards that no model uses any more.
    all.own.cardMemory.reset();
    for (const { name, freeBytes, totalBytes, heldBytes } of cards) {
      const figures = { free: freeBytes, total: totalBytes, used: totalBytes - freeBytes, models: heldBytes };
      for (const [kind, bytes] of Object.entries(figures)) all.own.cardMemory.set({ card: name, kind }, bytes);
    }
  }

  async function setDocuments(): Promise<void> {
    // Not known while their process is not to be had, or does not answer.
    const totals = await answeredInTime(() => parts.documents?.(), parts.startTimer ?? systemTimer);
    const { collections, files, passages, waiting } = all.documents;
    for (const gauge of [collections, files, passages, waiting]) gauge.reset();
    if (!totals) return;
    collections.set({}, totals.collections);
    files.set({}, totals.files);
    passages.set({}, totals.passages);
    waiting.set({}, totals.waiting);
  }

  const dequeued = (waited: number) => all.own.waited.observe({}, waited / 1000);

  return {
    /** Counts what a model does; its draft figures are read at the end of each generation. */
    watch(model: string, text: () => Measured) {
      // A model that returns under its name continues its counts.
      const count = counts.get(model) ?? new ModelCount(all, parts.models ? { model } : {});
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
      const { waiting, estimateSeconds, uptimeSeconds, steps, threads, snapshots, pool } = text.performance();
      for (const count of counts.values()) count.update();
      // With several models, each has its figures after its last generation.
      if (!parts.models) {
        setSteps(all.own, {}, steps);
        setThreads(all.own, {}, threads);
        setSnapshots(all.own, {}, snapshots);
        setPool(all.own, {}, pool);
      }
      all.llama.deferred.set({}, waiting);
      all.own.estimate.set({}, estimateSeconds);
      all.own.uptime.set({}, uptimeSeconds);
      all.own.memory.set({}, process.memoryUsage.rss());
      for (const [outcome, count] of Object.entries(parts.spans?.() ?? {})) all.spans.raiseTo({ outcome }, count);
      await Promise.all([setReady(text), setCards(), setDocuments()]);
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
    llama.promptSpeed.set(labels, perSecond(timings.processedTokens, timings.promptMs));
    llama.predictedSpeed.set(labels, perSecond(usage.completionTokens, timings.generationMs));
    setSteps(own, labels, performance.steps);
    setThreads(own, labels, performance.threads);
    setSnapshots(own, labels, performance.snapshots);
    setPool(own, labels, performance.pool);
    own.requests.inc({ ...labels, outcome: event.reason });
    own.promptDuration.observe(labels, (timings.initMs + timings.promptMs) / 1000);
    own.duration.observe(labels, (timings.initMs + timings.promptMs + timings.generationMs) / 1000);
  }
}

function setSteps(own: OwnMetrics, labels: Labels, times: StepTimes | undefined): void {
  if (!times) return;
  const { steps, rows, computeMs, sampleMs, totalMs } = times;
  own.steps.raiseTo(labels, steps);
  own.stepRows.raiseTo(labels, rows);
  const phases = { compute: computeMs, sample: sampleMs, other: Math.max(0, totalMs - computeMs - sampleMs) };
  for (const [phase, ms] of Object.entries(phases)) own.stepSeconds.raiseTo({ ...labels, phase }, ms / 1000);
}

function setThreads({ threads, threadChanges }: OwnMetrics, labels: Labels, use: ThreadUse | undefined): void {
  if (!use) return;
  threads.set({ ...labels, phase: 'decode' }, use.decode);
  threads.set({ ...labels, phase: 'prefill' }, use.prefill);
  threadChanges.raiseTo(labels, use.changes);
}

function setSnapshots({ snapshots, snapshotBytes }: OwnMetrics, labels: Labels, figures?: SnapshotFigures): void {
  if (!figures) return;
  snapshots.set(labels, figures.snapshots);
  snapshotBytes.set({ ...labels, kind: 'used' }, figures.bytes);
  snapshotBytes.set({ ...labels, kind: 'limit' }, figures.limitBytes ?? 0);
}

function setPool({ poolCells, poolWaiting }: OwnMetrics, labels: Labels, figures?: PoolFigures): void {
  if (!figures) return;
  poolCells.set({ ...labels, kind: 'used' }, figures.cells);
  poolCells.set({ ...labels, kind: 'limit' }, figures.capacity);
  poolWaiting.set(labels, figures.waiting);
}

function perSecond(tokens: number, milliseconds: number): number {
  return milliseconds > 0 ? (tokens * 1000) / milliseconds : 0;
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
    tasks: taskMetrics(make),
    exchanges: exchangeMetrics(make),
    documents: documentMetrics(make),
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

function taskMetrics({ counter, gauge, seconds }: Make) {
  return {
    total: counter('parley_tasks_total', 'Tasks beside text that ended, by their kind and how.'),
    duration: seconds('parley_task_duration_seconds', 'From the turn of a task to its end.'),
    running: gauge('parley_tasks_running', 'Tasks beside text that run now.'),
  };
}

function documentMetrics({ gauge }: Make) {
  return {
    collections: gauge('parley_document_collections', 'Collections of documents; missing while none were used.'),
    files: gauge('parley_document_files', 'Files in all collections.'),
    passages: gauge('parley_document_passages', 'Passages that can be found in them.'),
    waiting: gauge('parley_document_files_waiting', 'Files that are still to be indexed.'),
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
    cardMemory: gauge(
      'parley_gpu_memory_bytes',
      'Memory of the graphics cards that loaded models use: free, total, used by all programs, and taken by models here.',
    ),
    memory: gauge(
      'process_resident_memory_bytes',
      'Memory of the server itself; the model lives in a process of its own.',
    ),
  };
}

/** Name, type and help of every metric, for the documentation. */
export function metricList(): readonly Pick<Listed, 'name' | 'type' | 'help'>[] {
  return metricFamilies({ startedAt: 0, version: '' }).all;
}
