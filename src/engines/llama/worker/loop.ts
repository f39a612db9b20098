import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError, asAppError, plainError } from '../../../core/errors.ts';
import type { FromWorker, Piece } from '../messages.ts';
import { bridges, longestGap } from './fillers.ts';
import type { Generation } from './generation.ts';
import { nextChunk } from './memory/batch-size.ts';
import type { Context, DecodeResult } from './memory/context.ts';
import type { Slot } from './memory/slot.ts';
import type { SamplerPool } from './sampler-threads/sampler-pool.ts';
import { StepClock } from './step-times.ts';
import type { StepThreads } from './threads/step-threads.ts';

/** A smaller batch is computed faster than on another thread. A card only begins it then, which takes no time. */
const smallBatch = { processor: 63, card: 255 };
/**
 * Texts of short steps are sent together, so that none waits longer than this: a message for each step would cost the processor more than
 * it gives the reader. While the server and its client have a core of the worker, all its threads wait.
 */
const longestWaitMs = { sharing: 25, alone: 6 };
/** Further prompts are begun in the same step only within this time. */
const longestReadingMs = 200;

export interface LoopParts {
  readonly context: Context;
  /** The slots that may compute a filler token; none if the memory cannot remove it. */
  readonly slots: readonly Slot[];
  readonly send: (message: FromWorker) => void;
  readonly now: () => number;
  /** Computes each generation alone: its tokens must not depend on other requests (see `steadyPortion`). */
  readonly apart?: boolean;
  /** Layers are on a card: a decode returns before it is computed, and a pass over the weights costs as much as many rows. */
  readonly onCard?: boolean;
  /** Its threads need all cores, so that the server has none of its own. */
  readonly sharesCores?: boolean;
  readonly samplers?: () => Pick<SamplerPool, 'go'> | undefined;
  /** Missing where the number of threads is fixed. */
  readonly threads?: Pick<StepThreads, 'before' | 'after' | 'isUnsure' | 'watch'> | undefined;
}

/** The loop of the worker: fills a batch with the next tokens of every generation, computes it, and lets each sample. */
export class BatchLoop {
  readonly #active = new Set<Generation>();
  /** Not sent yet. */
  #pieces: Piece[] = [];
  #sentAt = 0;
  readonly #clock: StepClock;
  readonly #between: (() => Promise<void>)[] = [];
  readonly #beginnings: (() => void)[] = [];
  #running = false;
  #chunk = 128;
  #turn = 0;

  constructor(private readonly parts: LoopParts) {
    this.#clock = new StepClock((times) => parts.send({ type: 'step-times', times }), parts.now);
  }

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
      this.parts.context.abortDecode();
    }
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#active.size + this.#between.length + this.#beginnings.length > 0) {
      const work = this.#between.shift();
      if (work) {
        this.#flush();
        await work();
      }
      // Right before the batch: the library copies sequences with it, and nothing may change them until then.
      for (const begin of this.#beginnings.splice(0)) begin();
      // The caller may add more in the same turn.
      await undefined;
      const startedAt = this.parts.now();
      await this.#step();
      const last = this.#active.size === 0;
      // With a card, this is done while it computes the next step.
      if (!this.parts.onCard || last) {
        if (last || this.#isDue(startedAt)) this.#flush();
        await nextTurn();
      }
      this.#clock.ended(startedAt, last);
    }
    this.#running = false;
  }

  #flush(): void {
    if (this.#pieces.length === 0) return;
    this.parts.send({ type: 'step', pieces: this.#pieces });
    this.#pieces = [];
    this.#sentAt = this.parts.now();
  }

  /** Texts wait for those of the next step if that is expected in time; all else is sent at once. */
  #isDue(startedAt: number): boolean {
    const now = this.parts.now();
    const nextAt = now + (now - startedAt);
    const longest = this.parts.sharesCores ? longestWaitMs.sharing : longestWaitMs.alone;
    return nextAt - this.#sentAt > longest || this.#pieces.some(({ type }) => type !== 'text-delta');
  }

  /** First one token for each generation in decode, then prefill: whole batches if nothing decodes, otherwise a short chunk. */
  async #step(): Promise<void> {
    this.#dropAborted();
    const writers = [...this.#active].filter(({ readingPrompt }) => !readingPrompt);
    if (writers.length > 0) await this.#write(writers);
    await this.#read(writers.length > 0);
  }

  async #write(writers: readonly Generation[]): Promise<void> {
    const { context, slots, apart, onCard } = this.parts;
    if (apart) {
      for (const writer of writers) await this.#compute([writer], [], context.batchCapacity);
      return;
    }
    const writing = writers.map(({ slot }) => slot);
    const idle = bridges(writing, slots, onCard ? longestGap.card : longestGap.processor);
    try {
      await this.#compute(writers, idle, context.batchCapacity);
    } finally {
      for (const slot of idle) slot.dropFiller();
    }
  }

  /** Reads several short prompts in one step: generations that start together are computed together from then on. */
  async #read(busy: boolean): Promise<void> {
    const startedAt = this.parts.now();
    for (;;) {
      const readers = [...this.#active].filter(({ readingPrompt, aborted }) => readingPrompt && !aborted);
      const reader = nextReader(readers, this.#turn++);
      if (!reader) return;
      await this.#readOn(reader, readers, busy);
      if (reader.readingPrompt || this.parts.now() - startedAt >= longestReadingMs) return;
    }
  }

  async #readOn(reader: Generation, readers: readonly Generation[], busy: boolean): Promise<void> {
    const { context, now, apart } = this.parts;
    // Replies do not wait for a prompt.
    this.#flush();
    if (reader.atMedium) {
      const result = await reader.computeMedium().catch((): DecodeResult => 'failed');
      this.#after(reader, result);
      return;
    }
    const startedAt = now();
    const limit = busy ? this.#chunk : context.batchCapacity;
    const together = apart ? [reader] : readTogether(reader, readers, limit);
    const computed = await this.#compute(together, [], limit);
    // The first token of the reply does not wait until the card has been given the next step, whose new shape takes it some time.
    if (!reader.readingPrompt) this.#flush();
    if (busy && computed >= this.#chunk) {
      this.#chunk = nextChunk(this.#chunk, now() - startedAt, context.batchCapacity);
    }
  }

  /** Computes one batch; returns its number of tokens. */
  async #compute(generations: readonly Generation[], idle: readonly Slot[], limit: number): Promise<number> {
    const { context, now, threads } = this.parts;
    const isPrefill = generations[0]?.readingPrompt === true;
    context.clearBatch();
    const share = Math.floor(context.batchCapacity / (generations.length + idle.length));
    const parts = [
      ...generations.map((one) => ({
        slot: one.slot,
        fill: () => one.fill(Math.min(limit, share), generations.length),
      })),
      ...idle.map((slot) => ({ slot, fill: () => slot.addFiller() })),
    ];
    // The library computes sequences in one pass only in ascending order.
    for (const { fill } of parts.sort((a, b) => a.slot.sequence - b.slot.sequence)) fill();
    const { size } = context;
    if (size === 0) return 0;
    const startedAt = now();
    threads?.before(isPrefill, size);
    const result = await this.#decode(size);
    threads?.after(result);
    const computedAt = now();
    if (result === 'ok') this.#sample(generations);
    else if (isPrefill && generations.length > 1 && result !== 'aborted') await this.#readApart(generations, limit);
    else for (const generation of generations) this.#after(generation, result);
    this.#clock.computed(size, startedAt, computedAt);
    return size;
  }

  /** Prompts that could not be computed together: one that fails must not fail the others. */
  async #readApart(generations: readonly Generation[], limit: number): Promise<void> {
    for (const generation of generations) this.#after(generation, 'aborted');
    for (const generation of generations) if (!generation.finished) await this.#compute([generation], [], limit);
  }

  async #decode(size: number): Promise<DecodeResult> {
    const { context, onCard, threads } = this.parts;
    if (!onCard) {
      if (size <= smallBatch.processor && !threads?.isUnsure) return context.decodeNow();
      return threads ? threads.watch(context) : context.decode();
    }
    const result = size <= smallBatch.card ? context.decodeNow() : await context.decode();
    // Sends what the last step gave, and lets messages in: aborts, questions, requests.
    this.#flush();
    await nextTurn();
    context.synchronize();
    return result;
  }

  /** Other threads sample for some generations, while this one does for the rest. */
  #sample(generations: readonly Generation[]): void {
    const elsewhere: Generation[] = [];
    const here: Generation[] = [];
    for (const generation of generations) {
      try {
        (generation.startChoosing() ? elsewhere : here).push(generation);
      } catch (error) {
        generation.fail(asAppError(error), this.#pieces);
        this.#active.delete(generation);
      }
    }
    if (elsewhere.length > 0) this.parts.samplers?.()?.go();
    for (const generation of here) this.#after(generation, 'ok');
    for (const generation of elsewhere) this.#after(generation, 'ok');
  }

  #after(generation: Generation, result: DecodeResult): void {
    const pieces = this.#pieces;
    try {
      if (result === 'ok') generation.advance(pieces);
      else if (result === 'aborted') generation.interrupt(pieces);
      else generation.fail(decodeFailure(result), pieces);
    } catch (error) {
      generation.fail(asAppError(error), pieces);
    }
    if (generation.finished) this.#active.delete(generation);
  }

  #dropAborted(): void {
    for (const generation of this.#active) {
      if (!generation.aborted) continue;
      generation.interrupt(this.#pieces);
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

interface Reader {
  readonly remaining: number;
  /** Its prompt is not computed together with others. */
  readonly readsAlone: boolean;
}

/** The reader, and the shortest of the others that are computed to their end in the same batch: each may take the same share of it. */
export function readTogether<One extends Reader>(reader: One, readers: readonly One[], limit: number): readonly One[] {
  const together = [reader];
  if (reader.readsAlone) return together;
  let longest = reader.remaining;
  const others = readers.filter((other) => other !== reader && !other.readsAlone);
  for (const other of others.sort((a, b) => a.remaining - b.remaining)) {
    longest = Math.max(longest, other.remaining);
    if (longest * (together.length + 1) > limit) break;
    together.push(other);
  }
  return together;
}
