import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError, asAppError, plainError } from '../../../core/errors.ts';
import type { FromWorker, Piece } from '../messages.ts';
import { nextChunk } from './chunk.ts';
import type { Context, DecodeResult } from './context.ts';
import type { Generation } from './generation.ts';

/** A batch this small is computed sooner than another thread could take it over. */
const smallBatch = 64;

/**
 * The heart of the worker: as long as there is work, fill a batch with the next tokens of every generation, compute it,
 * and let each choose. How many generations there are is decided by whoever adds them; the loop does not care.
 */
export class BatchLoop {
  readonly #active = new Set<Generation>();
  readonly #between: (() => Promise<void>)[] = [];
  #running = false;
  #chunk = 128;

  constructor(
    private readonly context: Context,
    private readonly send: (message: FromWorker) => void,
    private readonly now: () => number,
  ) {}

  add(generation: Generation): void {
    this.#active.add(generation);
    if (!this.#running) void this.#run();
  }

  /** Runs work that must not meet a batch in the library: between two steps, and one after the other. */
  between<Result>(work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#between.push(() => work().then(resolve, reject));
      if (!this.#running) void this.#run();
    });
  }

  abort(id: number): void {
    for (const generation of this.#active) {
      if (generation.id !== id) continue;
      generation.abort();
      // Others lose only this one batch, which is computed again without it.
      this.context.abortDecode();
    }
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#active.size + this.#between.length > 0) {
      await this.#between.shift()?.();
      const pieces: Piece[] = [];
      await this.#step(pieces);
      if (pieces.length > 0) this.send({ type: 'step', pieces });
      // Lets messages in: an abort, a question, the next request.
      await nextTurn();
    }
    this.#running = false;
  }

  /**
   * First everybody who writes gets one token, then one prompt goes on: whole batches of it while nobody writes, and otherwise
   * a chunk that is short enough not to be noticed in the streams.
   */
  async #step(pieces: Piece[]): Promise<void> {
    this.#dropAborted(pieces);
    const writers = [...this.#active].filter(({ readingPrompt }) => !readingPrompt);
    await this.#compute(writers, this.context.batchCapacity, pieces);
    const reader = [...this.#active].find(({ readingPrompt }) => readingPrompt);
    if (!reader) return;
    if (reader.atMedium) {
      const result = await reader.computeMedium().catch((): DecodeResult => 'failed');
      this.#after(reader, result, pieces);
      return;
    }
    const busy = writers.length > 0;
    const startedAt = this.now();
    const computed = await this.#compute([reader], busy ? this.#chunk : this.context.batchCapacity, pieces);
    if (busy && computed >= this.#chunk) {
      this.#chunk = nextChunk(this.#chunk, this.now() - startedAt, this.context.batchCapacity);
    }
  }

  /** Computes one batch of these, and returns how many tokens it had. */
  async #compute(generations: readonly Generation[], limit: number, pieces: Piece[]): Promise<number> {
    const { context } = this;
    context.clearBatch();
    for (const generation of generations) generation.fill(Math.min(limit, context.room));
    const { size } = context;
    if (size === 0) return 0;
    const result = size <= smallBatch ? context.decodeNow() : await context.decode();
    for (const generation of generations) this.#after(generation, result, pieces);
    return size;
  }

  #after(generation: Generation, result: DecodeResult, pieces: Piece[]): void {
    try {
      if (result === 'ok') generation.advance(pieces);
      else if (result === 'aborted') generation.interrupt(pieces);
      else generation.fail(decodeFailure(result), pieces);
    } catch (error) {
      generation.fail(asAppError(error), pieces);
    }
    if (generation.finished) this.#active.delete(generation);
  }

  #dropAborted(pieces: Piece[]): void {
    for (const generation of this.#active) {
      if (!generation.aborted) continue;
      generation.interrupt(pieces);
      this.#active.delete(generation);
    }
  }
}

function decodeFailure(result: DecodeResult): AppError {
  const reason = result === 'no-room' ? 'the context is full' : 'llama.cpp could not compute the batch';
  return new AppError('engine-failed', { capability: 'text', reason });
}

export function errorPiece(id: number, error: unknown): Piece {
  return { type: 'error', id, error: plainError(error) };
}
