import { availableParallelism } from 'node:os';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { Sampling } from '../../../../core/sampling-fields.ts';
import type { SamplerOptions } from '../../../../sampling/sampler.ts';
import type { Pointer } from '../native/structs.ts';
import { samplers } from '../scheduling.ts';
import type { ThreadData, ToThread } from './sampler-thread.ts';
import { controlIndex, failed, field, rowFields, sharedIntegers, sharedRows } from './shared-rows.ts';

const { maxThreads, minVocabulary, spinMs, timeoutMs } = samplers;

const entry = new URL('./sampler-thread.js', import.meta.url);

interface PoolOptions {
  readonly vocabularySize: number;
  /** The maximum number of concurrent sequences. */
  readonly sequences: number;
  readonly gpuLayers: number;
}

/**
 * The number of sampler threads besides the main thread. A GPU computes a step so fast that sampling for all sequences in turn would take
 * as long again. Without a GPU all cores compute the steps, which take far longer than sampling.
 */
export function samplerThreads(options: PoolOptions, processors = availableParallelism()): number {
  const { vocabularySize, sequences, gpuLayers } = options;
  if (gpuLayers === 0 || vocabularySize < minVocabulary) return 0;
  return Math.max(0, Math.min(maxThreads, sequences - 1, processors - 1));
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
   * A sampler on the thread with the fewest samplers; undefined if the main thread should sample: it takes an equal share, and a thread
   * that is still starting gets none. Call `leave` at the end in either case.
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

  /** Wakes the threads for everything submitted since the last step. */
  go(): void {
    for (const thread of this.#threads) thread.go();
    Atomics.add(this.#step, 0, 1);
    Atomics.notify(this.#step, 0);
  }
}

/** The sampler of one request, on another thread: submit in each step, then `go`, then take the result. */
export class ThreadSampler {
  #row = 0;
  #result: number | undefined;

  constructor(
    private readonly thread: SamplerThread,
    private readonly id: number,
    /** Starts everything that was submitted. */
    readonly go: () => void,
  ) {
    thread.samplers += 1;
  }

  submit(logits: Pointer, length: number, forbidden: readonly number[]): void {
    if (forbidden.length > 0) this.thread.send({ type: 'forbid', id: this.id, tokens: forbidden });
    this.#row = this.thread.submit(this, this.id, logits, length);
    this.#result = undefined;
  }

  /** Stores the result, because its row is needed for the next submission. */
  storeResult(): void {
    this.#result ??= this.thread.result(this.#row);
  }

  /** Waits for the token. */
  result(): number {
    this.storeResult();
    if (this.#result === failed) throw new Error('the sampler failed');
    return this.#result as number;
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
  /** Number of rows submitted before this step. */
  #before = 0;
  /** Number of rows of this step. */
  #count = 0;
  /** Their samplers. */
  readonly #submitters: ThreadSampler[] = [];

  constructor({ vocabularySize, sequences }: PoolOptions, step: Int32Array, start: (data: ThreadData) => void) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.unref();
    this.#shared = sharedRows(sequences, step);
    start({ port: port2, shared: this.#shared, vocabularySize });
  }

  /** Whether it accepts work: not while it starts, and never again after it was lost. */
  get ready(): boolean {
    return Atomics.load(this.#shared.control, controlIndex.ready) === 1;
  }

  send(message: ToThread): void {
    this.#port.postMessage(message);
  }

  submit(submitter: ThreadSampler, sampler: number, address: Pointer, length: number): number {
    const { control, rows, addresses } = this.#shared;
    if (this.#count === 0) {
      for (const one of this.#submitters.splice(0)) one.storeResult();
      this.#before = Atomics.load(control, controlIndex.submitted);
    }
    this.#submitters.push(submitter);
    const row = this.#count;
    rows[row * rowFields + field.sampler] = sampler;
    rows[row * rowFields + field.length] = length;
    addresses[row] = BigInt(address);
    this.#count += 1;
    return row;
  }

  go(): void {
    Atomics.add(this.#shared.control, controlIndex.submitted, this.#count);
    this.#count = 0;
  }

  result(row: number): number {
    if (!this.#isDone(row)) this.#wait(row);
    return this.#shared.rows[row * rowFields + field.token] as number;
  }

  #isDone(row: number): boolean {
    return ((Atomics.load(this.#shared.control, controlIndex.done) - this.#before) | 0) > row;
  }

  /** Spins for a while before sleeping: results usually arrive sooner, and waking up takes longer than that. */
  #wait(row: number): void {
    const { control } = this.#shared;
    const startedAt = performance.now();
    while (performance.now() - startedAt < spinMs) if (this.#isDone(row)) return;
    Atomics.store(control, controlIndex.waiting, 1);
    for (;;) {
      const done = Atomics.load(control, controlIndex.done);
      if (this.#isDone(row)) break;
      if (!this.ready) throw new Error('a thread of the sampler was lost');
      if (Atomics.wait(control, controlIndex.done, done, timeoutMs) !== 'timed-out') continue;
      Atomics.store(control, controlIndex.ready, 0);
      throw new Error('a thread of the sampler does not answer');
    }
    Atomics.store(control, controlIndex.waiting, 0);
  }
}

function startThread(data: ThreadData): void {
  const worker = new Worker(entry, { workerData: data, transferList: [data.port] });
  worker.unref();
  // `result` throws for the requests whose samplers are on it.
  worker.on('error', () => Atomics.store(data.shared.control, controlIndex.ready, 0));
}
