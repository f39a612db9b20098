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
  #running = false;
  #chunk = 128;

  constructor(
    private readonly context: Context,
    private readonly send: (message: FromWorker) => void,
    private readonly now: () => number,
    /** Called whenever a generation has ended: another one may fit now. */
    private readonly onEnded: () => void,
  ) {}

  add(generation: Generation): void {
    this.#active.add(generation);
    if (!this.#running) void this.#run();
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
    while (this.#active.size > 0) {
      const pieces: Piece[] = [];
      await this.#step(pieces);
      if (pieces.length > 0) this.send({ type: 'step', pieces });
      // Lets messages in: an abort, a question, the next request.
      await nextTurn();
    }
    this.#running = false;
  }

  async #step(pieces: Piece[]): Promise<void> {
    this.#dropAborted(pieces);
    const { context } = this;
    context.clearBatch();
    // Who writes goes before who reads: one token each. The prompts share the rest of the batch, or only a part of it
    // while somebody writes, so that a long prompt does not stop the streams.
    const writers = [...this.#active].filter(({ readingPrompt }) => !readingPrompt);
    const readers = [...this.#active].filter(({ readingPrompt }) => readingPrompt);
    for (const generation of writers) generation.fill(context.room);
    const written = context.size;
    const room = writers.length > 0 ? Math.min(context.room, this.#chunk) : context.room;
    for (const generation of readers) generation.fill(Math.max(0, room - (context.size - written)));
    if (context.size === 0) return;
    const startedAt = this.now();
    const result = context.size <= smallBatch ? context.decodeNow() : await context.decode();
    const mixed = writers.length > 0 && context.size - written >= room;
    if (mixed) this.#chunk = nextChunk(this.#chunk, this.now() - startedAt, context.batchCapacity);
    for (const generation of [...writers, ...readers]) this.#after(generation, result, pieces);
  }

  #after(generation: Generation, result: DecodeResult, pieces: Piece[]): void {
    try {
      if (result === 'ok') generation.advance(pieces);
      else if (result === 'aborted') generation.interrupt(pieces);
      else generation.fail(decodeFailure(result), pieces);
    } catch (error) {
      generation.fail(asAppError(error), pieces);
    }
    if (generation.finished) this.#remove(generation);
  }

  #dropAborted(pieces: Piece[]): void {
    for (const generation of this.#active) {
      if (!generation.aborted) continue;
      generation.interrupt(pieces);
      this.#remove(generation);
    }
  }

  #remove(generation: Generation): void {
    this.#active.delete(generation);
    this.onEnded();
  }
}

function decodeFailure(result: DecodeResult): AppError {
  const reason = result === 'no-room' ? 'the context is full' : 'llama.cpp could not compute the batch';
  return new AppError('engine-failed', { capability: 'text', reason });
}

export function errorPiece(id: number, error: unknown): Piece {
  return { type: 'error', id, error: plainError(error) };
}
