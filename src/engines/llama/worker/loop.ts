import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError, asAppError, plainError } from '../../../core/errors.ts';
import type { FromWorker, Piece } from '../messages.ts';
import type { Generation } from './generation.ts';
import { nextChunk } from './memory/batch-size.ts';
import type { Context, DecodeResult } from './memory/context.ts';
import type { Slot } from './memory/slot.ts';
import type { StepThreads } from './step-threads.ts';

/** A smaller batch is computed faster than on another thread. */
const smallBatch = 63;
/** Further prompts are begun in the same step only within this time. */
const longestReadingMs = 200;

/** The loop of the worker: fills a batch with the next tokens of every generation, computes it, and lets each sample. */
export class BatchLoop {
  readonly #active = new Set<Generation>();
  readonly #between: (() => Promise<void>)[] = [];
  readonly #beginnings: (() => void)[] = [];
  #running = false;
  #chunk = 128;
  #turn = 0;

  constructor(
    private readonly context: Context,
    /** The slots that may compute a filler token; none if the memory cannot remove it. */
    private readonly slots: readonly Slot[],
    private readonly send: (message: FromWorker) => void,
    private readonly now: () => number,
    /** Computes each generation alone: its tokens must not depend on other requests (see `steadyPortion`). */
    private readonly apart = false,
    /** Missing where the number of threads is fixed. */
    private readonly threads?: StepThreads,
  ) {}

  add(generation: Generation): void {
    this.#active.add(generation);
    if (!this.#running) void this.#run();
  }

  /** Runs work that must not overlap with a batch: between two steps, one at a time. */
  between<Result>(work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#between.push(() => work().then(resolve, reject));
      if (!this.#running) void this.#run();
    });
  }

  /** Runs short work that must not overlap with a batch: all of it before the next one. */
  beforeNextBatch(work: () => void): void {
    this.#beginnings.push(work);
    if (!this.#running) void this.#run();
  }

  abort(id: number): void {
    for (const generation of this.#active) {
      if (generation.id !== id) continue;
      generation.aborted = true;
      // The others lose this one batch, which is computed again without it.
      this.context.abortDecode();
    }
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#active.size + this.#between.length + this.#beginnings.length > 0) {
      const work = this.#between.shift();
      if (work) await work();
      // Right before the batch: the library copies sequences with it, and nothing may change them until then.
      for (const begin of this.#beginnings.splice(0)) begin();
      // The caller may add more in the same turn.
      await undefined;
      const pieces: Piece[] = [];
      await this.#step(pieces);
      if (pieces.length > 0) this.send({ type: 'step', pieces });
      // Lets messages in: aborts, questions, requests.
      await nextTurn();
    }
    this.#running = false;
  }

  /** First one token for each generation in decode, then prefill: whole batches if nothing decodes, otherwise a short chunk. */
  async #step(pieces: Piece[]): Promise<void> {
    this.#dropAborted(pieces);
    const writers = [...this.#active].filter(({ readingPrompt }) => !readingPrompt);
    if (writers.length > 0) await this.#write(writers, pieces);
    await this.#read(writers.length > 0, pieces);
  }

  async #write(writers: readonly Generation[], pieces: Piece[]): Promise<void> {
    if (this.apart) {
      for (const writer of writers) await this.#compute([writer], [], this.context.batchCapacity, pieces);
      return;
    }
    const writing = writers.map(({ slot }) => slot);
    const idle = bridges(writing, this.slots);
    try {
      await this.#compute(writers, idle, this.context.batchCapacity, pieces);
    } finally {
      for (const slot of idle) slot.dropFiller();
    }
  }

  /** Reads several short prompts in one step: generations that start together are computed together from then on. */
  async #read(busy: boolean, pieces: Piece[]): Promise<void> {
    const startedAt = this.now();
    for (;;) {
      const readers = [...this.#active].filter(({ readingPrompt, aborted }) => readingPrompt && !aborted);
      const reader = nextReader(readers, this.#turn++);
      if (!reader) return;
      await this.#readOn(reader, busy, pieces);
      if (reader.readingPrompt || this.now() - startedAt >= longestReadingMs) return;
    }
  }

  async #readOn(reader: Generation, busy: boolean, pieces: Piece[]): Promise<void> {
    if (reader.atMedium) {
      const result = await reader.computeMedium().catch((): DecodeResult => 'failed');
      this.#after(reader, result, pieces);
      return;
    }
    const startedAt = this.now();
    const computed = await this.#compute([reader], [], busy ? this.#chunk : this.context.batchCapacity, pieces);
    if (busy && computed >= this.#chunk) {
      this.#chunk = nextChunk(this.#chunk, this.now() - startedAt, this.context.batchCapacity);
    }
  }

  /** Computes one batch; returns its number of tokens. */
  async #compute(generations: readonly Generation[], idle: readonly Slot[], limit: number, pieces: Piece[]) {
    const { context } = this;
    const isPrefill = generations[0]?.readingPrompt === true;
    context.clearBatch();
    const share = Math.floor(context.batchCapacity / (generations.length + idle.length));
    const parts = [
      ...generations.map((one) => ({ slot: one.slot, fill: () => one.fill(Math.min(limit, share)) })),
      ...idle.map((slot) => ({ slot, fill: () => slot.addFiller() })),
    ];
    // The library computes sequences in one pass only in ascending order.
    for (const { fill } of parts.sort((a, b) => a.slot.sequence - b.slot.sequence)) fill();
    const { size } = context;
    if (size === 0) return 0;
    this.threads?.before(isPrefill, size);
    const result = size <= smallBatch ? context.decodeNow() : await context.decode();
    this.threads?.after(result);
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

/** The prompt to continue with: alternately the oldest and the shortest one, so that neither waits for the other. */
export function nextReader<Reader extends { readonly remaining: number }>(
  oldestFirst: readonly Reader[],
  turn: number,
): Reader | undefined {
  const [oldest] = oldestFirst;
  if (!oldest || turn % 2 === 0) return oldest;
  return oldestFirst.reduce((least, reader) => (reader.remaining < least.remaining ? reader : least), oldest);
}

/** On small models, a pass over the weights costs about as much as this many more rows; on large ones more. */
const longestGap = 3;

/**
 * The idle slots that should compute a filler token: the library computes only consecutive sequences in one pass over the weights.
 * None is longer than all that write, because attention over a long text would cost more than it saves.
 */
export function bridges<Neighbour extends Pick<Slot, 'sequence' | 'computed' | 'capacity'>>(
  writing: readonly Neighbour[],
  all: readonly Neighbour[],
): Neighbour[] {
  const longest = Math.max(...writing.map(({ computed }) => computed));
  const found: Neighbour[] = [];
  let gap: Neighbour[] = [];
  let begun = false;
  for (const slot of [...all].sort((a, b) => a.sequence - b.sequence)) {
    if (!writing.includes(slot)) {
      gap.push(slot);
      continue;
    }
    const worth = begun && gap.length <= longestGap;
    if (worth && gap.every(({ computed, capacity }) => computed <= longest && computed < capacity)) found.push(...gap);
    begun = true;
    gap = [];
  }
  return found;
}
