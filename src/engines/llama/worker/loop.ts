import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError, asAppError, plainError } from '../../../core/errors.ts';
import type { FromWorker, Piece } from '../messages.ts';
import { type Batch, type BegunStep, batchOf, decide, nextChunk, type Step } from './decide.ts';
import type { Generation } from './generation.ts';
import type { CellPool } from './memory/cell-pool.ts';
import type { Context, DecodeResult } from './memory/context.ts';
import type { HeldSlots } from './memory/held-slots.ts';
import type { Slot } from './memory/slot.ts';
import type { PredictionLayers } from './prediction-layers.ts';
import type { SamplerPool } from './sampler-threads/sampler-pool.ts';
import { batching } from './scheduling.ts';
import { StepClock } from './step-times.ts';
import type { StepThreads } from './threads/step-threads.ts';

const { maxInlineBatch, maxFlushDelayMs } = batching;

export interface LoopOptions {
  readonly context: Context;
  /** The slots that may get a padding token; none if the memory cannot remove it. */
  readonly slots: readonly Slot[];
  readonly send: (message: FromWorker) => void;
  readonly now: () => number;
  /** Computes each generation alone: its tokens must not depend on other requests (see `steadyPortion`). */
  readonly isolated?: boolean;
  /** Layers are on a GPU: a decode returns before it is computed, and a pass over the weights costs as much as many rows. */
  readonly onGpu?: boolean;
  /** The compute threads use all cores, so the server has none of its own. */
  readonly sharesCores?: boolean;
  /** Where sequences share their cells. */
  readonly pool?: Pick<CellPool, 'admit' | 'fits' | 'relieve' | 'figures'> | undefined;
  /** Copies what a slot has computed; false if it would be lost to the next prompt there. */
  readonly save?: (slot: Slot) => boolean;
  /** Missing where generations cannot leave their slots. */
  readonly held?: HeldSlots | undefined;
  /** Called after a prefill with the tokens of all its prompts and the time it took. */
  readonly prefilled?: (tokens: number, milliseconds: number) => void;
  readonly samplers?: () => Pick<SamplerPool, 'go'> | undefined;
  /** Layers that follow the main model, for multi-token prediction. */
  readonly layers?: Pick<PredictionLayers, 'follow' | 'width'> | undefined;
  /** Missing where the number of threads is fixed. */
  readonly threads?: Pick<StepThreads, 'before' | 'after' | 'needsWatch' | 'watch'> | undefined;
}

/** The loop of the worker: fills a batch with the next tokens of every generation, computes it, and lets each sample. */
export class BatchLoop {
  /** Oldest first. */
  readonly #active = new Set<Generation>();
  /** Active generations that have given up their cells, oldest first. */
  readonly #parked = new Set<Generation>();
  /** Generations that have left their slots, and whether they may continue. */
  readonly #held = new Map<Generation, 'waits' | 'proceeds'>();
  /** Events that are not sent yet. */
  #pieces: Piece[] = [];
  #sentAt = 0;
  readonly #clock: StepClock;
  readonly #between: (() => Promise<void>)[] = [];
  readonly #beforeBatch: (() => void)[] = [];
  #isRunning = false;
  #chunk: number = batching.firstChunk;
  #prefills = 0;
  /** The prefill that is being computed, and the speed of the last one. */
  #prefilling: { readonly size: number; readonly startedAt: number } | undefined;
  #prefillMsPerToken = 0;

  constructor(private readonly options: LoopOptions) {
    this.#clock = new StepClock((times) => {
      options.send({ type: 'step-times', times, ...(options.pool && { pool: options.pool.figures }) });
    }, options.now);
  }

  add(generation: Generation): void {
    this.#active.add(generation);
    if (!this.#isRunning) void this.#run();
  }

  /** Runs work that must not overlap with a batch: between two steps, one at a time. */
  between<Result>(work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#between.push(() => work().then(resolve, reject));
      if (!this.#isRunning) void this.#run();
    });
  }

  /** Runs short work that must not overlap with a batch: all of it before the next one. */
  beforeNextBatch(work: () => void): void {
    this.#beforeBatch.push(work);
    if (!this.#isRunning) void this.#run();
  }

  abort(id: number): void {
    for (const generation of this.#active) {
      if (generation.id !== id) continue;
      generation.aborted = true;
      // The other generations lose this batch; it is computed again without the aborted one.
      this.options.context.abortDecode();
    }
    for (const generation of this.#held.keys()) {
      if (generation.id !== id) continue;
      generation.aborted = true;
      this.beforeNextBatch(() => this.#drop(generation));
    }
  }

  /** Takes a generation out of its slot before the next step; one that cannot leave it is aborted. */
  hold(id: number): void {
    this.#abortPrefill();
    this.beforeNextBatch(() => {
      for (const generation of this.#active) {
        if (generation.id !== id || generation.aborted) continue;
        if (!this.options.held || !generation.isHoldable || this.#parked.has(generation)) {
          generation.aborted = true;
          this.#drop(generation);
          continue;
        }
        generation.slot.rollback();
        this.options.held.leave(generation.slot);
        this.#active.delete(generation);
        this.#held.set(generation, 'waits');
      }
    });
  }

  /** Continues a held generation as soon as a slot is free. */
  proceed(id: number): void {
    this.beforeNextBatch(() => {
      for (const generation of this.#held.keys()) if (generation.id === id) this.#held.set(generation, 'proceeds');
    });
  }

  /** Aborts a generation before the next step, if at least this many tokens of its prompt are left and nothing is lost. */
  interrupt(id: number, minTokens: number): void {
    for (const generation of this.#running) {
      if (generation.id !== id || !generation.isInterruptible) continue;
      generation.interruptFrom = minTokens;
      this.#abortPrefill();
    }
  }

  /** Aborts a prefill batch of which less than half is computed: waiting for it would take longer than computing it again. */
  #abortPrefill(): void {
    const { context, now } = this.options;
    if (!this.#prefilling || context.memory !== 'plain') return;
    const { size, startedAt } = this.#prefilling;
    if (now() - startedAt < (size * this.#prefillMsPerToken) / 2) context.abortDecode();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#active.size + this.#between.length + this.#beforeBatch.length > 0) {
      const work = this.#between.shift();
      if (work) {
        this.#flush();
        await work();
      }
      // Right before the batch: the library copies sequences with it, and nothing may change them until then.
      for (const begin of this.#beforeBatch.splice(0)) begin();
      this.#resume();
      // The caller may add more in the same turn.
      await undefined;
      const startedAt = this.options.now();
      await this.#step();
      const last = this.#active.size === 0;
      // With a GPU this happens while it computes the next step, in `#decode`.
      if (!this.options.onGpu || last) {
        if (last || this.#isDue(startedAt)) this.#flush();
        await nextTurn();
      }
      this.#clock.ended(startedAt, last);
      this.#resume();
    }
    this.#isRunning = false;
  }

  #flush(): void {
    if (this.#pieces.length === 0) return;
    this.options.send({ type: 'step', pieces: this.#pieces });
    this.#pieces = [];
    this.#sentAt = this.options.now();
  }

  /** Whether to send now: text may wait if the next step is expected to end in time; other events are sent at once. */
  #isDue(startedAt: number): boolean {
    const now = this.options.now();
    const nextAt = now + (now - startedAt);
    const maxDelay = this.options.sharesCores ? maxFlushDelayMs.sharedCores : maxFlushDelayMs.ownCores;
    return nextAt - this.#sentAt > maxDelay || this.#pieces.some(({ type }) => type !== 'text-delta');
  }

  async #step(): Promise<void> {
    this.#dropAborted();
    const { decode } = this.#decide();
    for (const batch of decode) {
      try {
        await this.#compute(batch);
      } finally {
        for (const slot of batch.padding) slot.dropPadding();
      }
    }
    await this.#prefill(decode.length > 0);
  }

  /** Resumes parked generations for which there is room, or one if no other runs; then admits new prompts. */
  #resume(): void {
    const { pool } = this.options;
    for (const generation of this.#parked) {
      const fits = pool?.fits(generation.slot);
      if (!fits && this.#parked.size < this.#active.size) return;
      this.#parked.delete(generation);
      generation.slot.resume();
    }
    for (const [generation, state] of this.#held) {
      if (state === 'waits' || !this.options.held?.arrive(generation.slot)) continue;
      this.#held.delete(generation);
      this.#active.add(generation);
    }
    pool?.admit();
  }

  get #running(): Generation[] {
    return [...this.#active].filter((generation) => !generation.aborted && !this.#parked.has(generation));
  }

  #decide(begun?: BegunStep): Step<Generation> {
    const { context, slots, isolated = false, onGpu = false } = this.options;
    const { batchCapacity } = context;
    const running = this.#running;
    const chunk = this.#chunk;
    const prefills = this.#prefills;
    return decide({ running, slots, batchCapacity, isolated, onGpu, chunk, prefills, begun });
  }

  /** Prefills several short prompts in one step: generations that start together share all further batches. */
  async #prefill(busy: boolean): Promise<void> {
    const { now } = this.options;
    const startedAt = now();
    for (let begun: BegunStep = { busy, unfinished: false, prefillMs: 0 }; ; ) {
      const { prefill } = this.#decide(begun);
      const prompt = prefill?.rows[0]?.generation;
      if (!prompt) return;
      this.#prefills += 1;
      await this.#prefillOne(prefill, prompt, busy);
      begun = { busy, unfinished: prompt.inPrefill, prefillMs: now() - startedAt };
    }
  }

  async #prefillOne(batch: Batch<Generation>, prompt: Generation, busy: boolean): Promise<void> {
    const { context, now } = this.options;
    // Text of active replies does not wait for a prefill.
    this.#flush();
    if (prompt.atMedium) {
      const result = await prompt.computeMedium().catch((): DecodeResult => 'failed');
      this.#afterAll([prompt], result);
      return;
    }
    const startedAt = now();
    const computed = await this.#compute(batch);
    // The first token is sent before the next step is enqueued: a GPU needs time to prepare a batch of a new shape.
    if (!prompt.inPrefill) this.#flush();
    if (busy && computed >= this.#chunk) {
      this.#chunk = nextChunk(this.#chunk, now() - startedAt, context.batchCapacity);
    }
  }

  /** Computes one batch; returns its number of tokens. */
  async #compute({ rows, padding }: Batch<Generation>): Promise<number> {
    const { context, now, threads, pool, layers } = this.options;
    const generations = rows.map(({ generation }) => generation);
    const isPrefill = generations[0]?.inPrefill === true;
    context.clearBatch();
    const fills = [
      ...rows.map(({ generation, limit, draft }) => ({
        slot: generation.slot,
        fill: () => generation.fill(limit, draft, rows.length),
      })),
      ...padding.map((slot) => ({ slot, fill: () => slot.addPadding() })),
    ];
    // The library computes sequences in one pass only in ascending order.
    for (const { fill } of fills.sort((a, b) => a.slot.sequence - b.slot.sequence)) fill();
    const { size } = context;
    if (size === 0) return 0;
    if (layers) context.keepStates(isPrefill ? 'all' : 'outputs', layers.width);
    const startedAt = now();
    threads?.before(isPrefill, size);
    this.#prefilling = isPrefill ? { size, startedAt } : undefined;
    const result = await this.#decode(size);
    this.#prefilling = undefined;
    threads?.after(result);
    const computedAt = now();
    if (isPrefill && result === 'ok') {
      this.#prefillMsPerToken = (computedAt - startedAt) / size;
      this.options.prefilled?.(size, computedAt - startedAt);
    }
    if (result === 'ok') this.#sample(layers ? await this.#followed(generations, layers) : generations);
    else if (isPrefill && generations.length > 1 && (result === 'failed' || (result === 'no-room' && !pool)))
      await this.#prefillSeparately(generations);
    else this.#afterAll(generations, result);
    this.#clock.computed(size, startedAt, computedAt);
    return size;
  }

  /** After a failed batch of several prompts: each is computed again alone, so that only the faulty one fails. */
  async #prefillSeparately(generations: readonly Generation[]): Promise<void> {
    const { batchCapacity } = this.options.context;
    for (const generation of generations) this.#after(generation, 'aborted');
    for (const generation of generations) {
      if (!generation.finished) await this.#compute(batchOf([generation], [], batchCapacity, batchCapacity));
    }
  }

  async #decode(size: number): Promise<DecodeResult> {
    const { context, onGpu, threads } = this.options;
    if (!onGpu) {
      if (size <= maxInlineBatch.cpu && !threads?.needsWatch) return context.decodeNow();
      return threads ? threads.watch(context) : context.decode();
    }
    const result = size <= maxInlineBatch.gpu ? context.decodeNow() : await context.decode();
    // While the GPU computes: sends the events of the last step and lets messages in.
    this.#flush();
    await nextTurn();
    context.synchronize();
    return result;
  }

  /** Passes hidden states on to the prediction layers, before sampling, since drafted tokens may be rejected. Returns the generations that did not fail. */
  async #followed(generations: readonly Generation[], layers: Pick<PredictionLayers, 'follow'>) {
    for (const generation of generations) {
      try {
        await generation.follow(layers);
      } catch (error) {
        generation.fail(asAppError(error), this.#pieces);
        this.#active.delete(generation);
      }
    }
    return generations.filter(({ finished }) => !finished);
  }

  /** Samples for all generations: some on other threads, the rest on this one meanwhile. */
  #sample(generations: readonly Generation[]): void {
    const elsewhere: Generation[] = [];
    const here: Generation[] = [];
    for (const generation of generations) {
      try {
        (generation.startSampling() ? elsewhere : here).push(generation);
      } catch (error) {
        generation.fail(asAppError(error), this.#pieces);
        this.#active.delete(generation);
      }
    }
    if (elsewhere.length > 0) this.options.samplers?.()?.go();
    for (const generation of here) this.#after(generation, 'ok');
    for (const generation of elsewhere) this.#after(generation, 'ok');
  }

  /** After a batch that was not computed. Without cells it is computed again as soon as others have given up theirs. */
  #afterAll(generations: readonly Generation[], result: DecodeResult): void {
    const relief = result === 'no-room' ? this.options.pool?.relieve(this.#running) : undefined;
    for (const generation of generations) this.#after(generation, relief ? 'aborted' : result);
    if (!relief?.park) return;
    relief.park.slot.park();
    this.#parked.add(relief.park);
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

  #isInterrupted(generation: Generation): boolean {
    const { interruptFrom, slot } = generation;
    generation.interruptFrom = undefined;
    if (interruptFrom === undefined || !generation.isInterruptible || generation.remaining < interruptFrom)
      return false;
    return !this.#parked.has(generation) && this.options.save?.(slot) === true;
  }

  #dropAborted(): void {
    for (const generation of this.#active) {
      if (this.#isInterrupted(generation)) generation.aborted = true;
      if (generation.aborted) this.#drop(generation);
    }
  }

  #drop(generation: Generation): void {
    generation.interrupt(this.#pieces);
    this.#active.delete(generation);
    this.#parked.delete(generation);
    this.#held.delete(generation);
  }
}

function decodeFailure(result: DecodeResult): AppError {
  const reason = result === 'no-room' ? 'the context is full' : 'llama.cpp could not compute the batch';
  return new AppError('engine-failed', { capability: 'text', reason });
}

export function errorPiece(id: number, error: unknown): Piece {
  return { type: 'error', id, error: plainError(error) };
}
