import type { EmbeddingService } from '../core/embedding.ts';
import { AppError, asAppError } from '../core/errors.ts';
import { Latch } from '../core/synchronization.ts';
import { pauseUnlessAborted, type StartTimer } from '../core/timers.ts';
import type { IndexStep } from './document-store.ts';
import type { StoreHost } from './store-host.ts';

interface IndexerOptions {
  readonly store: Pick<StoreHost, 'call' | 'callWith' | 'watch'>;
  /** The embeddings of the server; undefined where it has none. */
  readonly embedding: () => EmbeddingService | undefined;
  /** Resolves in a turn of the queue in which no request runs or waits; the result gives it back. */
  readonly turn: (giveWay: () => void, signal: AbortSignal) => Promise<() => void>;
  readonly startTimer: StartTimer;
  readonly warn: (sentence: string) => void;
}

/** Passages that are embedded together. A request that comes meanwhile ends the batch. */
const maxBatch = 32;
/** Pause after a failure that is not the fault of a file: a full disk, a missing engine. */
const retryMs = 10_000;
/** Pause after the end of the worker, which restarts by itself. */
const restartMs = 500;

/** Reads and embeds what is to be indexed, one piece after the other, at the lowest weight of the queue. */
export class Indexer {
  readonly #stop = new AbortController();
  readonly #work = new Latch();
  #hasWork = false;
  #batch = 8;
  #running: Promise<unknown> | undefined;
  #reported = '';

  constructor(private readonly options: IndexerOptions) {}

  /** Once the store is used. */
  start(): void {
    this.#running ??= Promise.all([this.#watch(), this.#run()]);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await this.#running;
  }

  /** The worker says when there is something to do; when it ends, it is started again. */
  async #watch(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.options.store.watch(() => this.#wake(), this.#stop.signal);
      } catch (error) {
        await this.#paused(error);
      }
    }
  }

  #wake(): void {
    this.#hasWork = true;
    this.#work.release();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      if (!this.#hasWork) await this.#work.wait();
      if (signal.aborted) return;
      try {
        this.#hasWork = false;
        while (await this.#step()) this.#reported = '';
      } catch (error) {
        this.#hasWork = true;
        await this.#paused(error);
      }
    }
  }

  /** Whether there was something to do. */
  async #step(): Promise<boolean> {
    const { store, embedding } = this.options;
    const name = embedding()?.name ?? '';
    const step = await store.call('next', name, this.#batch);
    if (!step || this.#stop.signal.aborted) return false;
    if (step.type === 'embed') await this.#embed(step);
    else {
      // Reading is a process of low priority, which need not end for a request.
      const leave = await this.options.turn(() => undefined, this.#stop.signal);
      leave();
      await store.callWith({ signal: this.#stop.signal }, 'read', step.collection, step.file, name);
    }
    return true;
  }

  async #embed({ collection, passages }: Extract<IndexStep, { readonly type: 'embed' }>): Promise<void> {
    const { store, embedding } = this.options;
    const service = embedding();
    if (!service) return;
    const yielded = new AbortController();
    const signal = AbortSignal.any([yielded.signal, this.#stop.signal]);
    const giveWay = () => yielded.abort(new AppError('stopped', {}));
    try {
      const inputs = passages.map(({ text }) => text);
      const { vectors } = await service.embed(
        { inputs, truncate: true },
        { genkey: '', client: 'documents', signal, giveWay },
      );
      this.#batch = Math.min(maxBatch, this.#batch * 2);
      const own = vectors.map(([vector]) => vector ?? new Float32Array());
      const ids = passages.map(({ id }) => id);
      await store.callWith({ vectors: own }, 'setVectors', collection, ids);
    } catch (error) {
      // The same passages come again in the next step, which waits for its turn. Where requests come often, only small batches are done in between.
      if (yielded.signal.aborted) this.#batch = Math.max(1, this.#batch >> 1);
      else throw error;
    }
  }

  async #paused(error: unknown): Promise<void> {
    const { signal } = this.#stop;
    if (signal.aborted) return;
    const { message, code } = asAppError(error);
    // Each reason once, until something succeeds.
    if (message !== this.#reported && code !== 'engine-lost') {
      const reason = code === 'disk-full' ? 'the disk is full' : message.replace(/\.$/, '');
      this.options.warn(`Documents are not indexed: ${reason}. It is tried again.`);
    }
    this.#reported = message;
    await pauseUnlessAborted(this.options.startTimer, code === 'engine-lost' ? restartMs : retryMs, signal);
  }
}
