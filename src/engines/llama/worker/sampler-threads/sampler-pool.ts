import { availableParallelism } from 'node:os';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { Sampling } from '../../../../core/sampling-fields.ts';
import type { SamplerOptions } from '../../../../sampling/sampler.ts';
import type { Pointer } from '../native/structs.ts';
import type { ThreadData, ToThread } from './sampler-thread.ts';
import { failed, field, place, rowFields, sharedIntegers, sharedRows } from './shared-rows.ts';

/** Waking more takes longer than they save: with 32 sequences and 152,000 tokens, 11 were ahead of 7 and of 15 (docs/performance.md). */
const mostThreads = 11;
/** With fewer tokens to choose from, sampling takes less time than waking a thread. */
const leastVocabulary = 16_000;
/** How long the main thread looks for a token before it sleeps. */
const awakeMs = 2;
/** Until a thread that does not answer counts as lost; it needs milliseconds. */
const patienceMs = 20_000;

const entry = new URL('./sampler-thread.js', import.meta.url);

interface PoolOptions {
  readonly vocabularySize: number;
  /** The most sequences at once. */
  readonly sequences: number;
  readonly gpuLayers: number;
}

/**
 * How many threads sample beside the main one. A card computes a step so fast that sampling for all sequences, one after the other, would
 * take as long again. Without a card the processor is busy with the steps, which take far longer than sampling.
 */
export function samplerThreads(options: PoolOptions, processors = availableParallelism()): number {
  const { vocabularySize, sequences, gpuLayers } = options;
  if (gpuLayers === 0 || vocabularySize < leastVocabulary) return 0;
  return Math.max(0, Math.min(mostThreads, sequences - 1, processors - 1));
}

/** Samples for several sequences at the same time. Each sampler stays on one thread, with its state. */
export class SamplerPool {
  readonly #threads: readonly SamplerThread[];
  readonly #step = sharedIntegers(1);
  #samplers = 0;
  #onMain = 0;

  constructor(options: PoolOptions, count: number, start: (data: ThreadData) => void = startThread) {
    this.#threads = Array.from({ length: count }, () => new SamplerThread(options, this.#step, start));
  }

  /**
   * A sampler on the thread with the fewest; undefined if the main thread should sample itself: it takes its share, and a thread that
   * still starts has none. Call `leave` at the end in either case.
   */
  sampler(settings: Sampling, options: SamplerOptions, history: Int32Array): ThreadSampler | undefined {
    const thread = this.#threads
      .filter(({ ready }) => ready)
      .reduce<SamplerThread | undefined>(
        (best, one) => (best && best.samplers <= one.samplers ? best : one),
        undefined,
      );
    if (!thread || this.#onMain <= thread.samplers) {
      this.#onMain += 1;
      return undefined;
    }
    this.#samplers += 1;
    thread.send({ type: 'add', id: this.#samplers, settings, options, history });
    return new ThreadSampler(thread, this.#samplers, () => this.go());
  }

  leave(sampler: ThreadSampler | undefined): void {
    if (sampler) sampler.remove();
    else this.#onMain -= 1;
  }

  /** Starts what was asked for since the last step. */
  go(): void {
    for (const thread of this.#threads) thread.go();
    Atomics.add(this.#step, 0, 1);
    Atomics.notify(this.#step, 0);
  }
}

/** The sampler of one request, on another thread: asked in each step, and answers after `go`. */
export class ThreadSampler {
  #row = 0;
  #answer: number | undefined;

  constructor(
    private readonly thread: SamplerThread,
    private readonly id: number,
    /** Starts all that was asked for. */
    readonly go: () => void,
  ) {
    thread.samplers += 1;
  }

  ask(logits: Pointer, length: number, forbidden: readonly number[]): void {
    if (forbidden.length > 0) this.thread.send({ type: 'forbid', id: this.id, tokens: forbidden });
    this.#row = this.thread.ask(this, this.id, logits, length);
    this.#answer = undefined;
  }

  /** Keeps the answer, whose row is needed for another question. */
  keep(): void {
    this.#answer ??= this.thread.answer(this.#row);
  }

  /** Waits for the token: the thread has begun long before. */
  answer(): number {
    this.keep();
    if (this.#answer === failed) throw new Error('the sampler failed');
    return this.#answer as number;
  }

  remove(): void {
    this.thread.samplers -= 1;
    this.thread.send({ type: 'remove', id: this.id });
  }
}

class SamplerThread {
  samplers = 0;
  readonly #port: MessagePort;
  readonly #shared;
  /** Rows before this step. */
  #before = 0;
  /** Rows of this step. */
  #count = 0;
  /** Who has them. */
  readonly #asking: ThreadSampler[] = [];

  constructor({ vocabularySize, sequences }: PoolOptions, step: Int32Array, start: (data: ThreadData) => void) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.unref();
    this.#shared = sharedRows(sequences, step);
    start({ port: port2, shared: this.#shared, vocabularySize });
  }

  /** Whether it waits for work: not while it starts, and never again after it was lost. */
  get ready(): boolean {
    return Atomics.load(this.#shared.control, place.ready) === 1;
  }

  send(message: ToThread): void {
    this.#port.postMessage(message);
  }

  ask(asking: ThreadSampler, sampler: number, address: Pointer, length: number): number {
    const { control, rows, addresses } = this.#shared;
    if (this.#count === 0) {
      for (const one of this.#asking.splice(0)) one.keep();
      this.#before = Atomics.load(control, place.asked);
    }
    this.#asking.push(asking);
    const row = this.#count;
    rows[row * rowFields + field.sampler] = sampler;
    rows[row * rowFields + field.length] = length;
    addresses[row] = BigInt(address);
    this.#count += 1;
    return row;
  }

  go(): void {
    Atomics.add(this.#shared.control, place.asked, this.#count);
    this.#count = 0;
  }

  answer(row: number): number {
    if (!this.#isDone(row)) this.#await(row);
    return this.#shared.rows[row * rowFields + field.token] as number;
  }

  #isDone(row: number): boolean {
    return ((Atomics.load(this.#shared.control, place.done) - this.#before) | 0) > row;
  }

  /** It is not long in coming: only after a while does this thread sleep, from which it would wake too late. */
  #await(row: number): void {
    const { control } = this.#shared;
    const startedAt = performance.now();
    while (performance.now() - startedAt < awakeMs) if (this.#isDone(row)) return;
    Atomics.store(control, place.waiting, 1);
    for (;;) {
      const done = Atomics.load(control, place.done);
      if (this.#isDone(row)) break;
      if (!this.ready) throw new Error('a thread of the sampler was lost');
      if (Atomics.wait(control, place.done, done, patienceMs) !== 'timed-out') continue;
      Atomics.store(control, place.ready, 0);
      throw new Error('a thread of the sampler does not answer');
    }
    Atomics.store(control, place.waiting, 0);
  }
}

function startThread(data: ThreadData): void {
  const worker = new Worker(entry, { workerData: data, transferList: [data.port] });
  worker.unref();
  // Requests whose samplers it has are told by `answer`.
  worker.on('error', () => Atomics.store(data.shared.control, place.ready, 0));
}
