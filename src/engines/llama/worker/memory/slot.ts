import type { MediumSpan } from '../media/media-prompt.ts';
import { checkpoints } from '../scheduling.ts';
import { borderUpTo, portionOf, steadyPortion } from './batch-size.ts';
import type { Context, DecodeResult } from './context.ts';
import { type CacheLimits, type Checkpoint, Checkpoints, checkpointCuts, type Snapshot } from './snapshot.ts';

/**
 * One sequence of the context: the tokens of prompt and reply, with images and audio among them, and how many are in the cache. The
 * rest goes into the next batch, and its last token has logits. A memory that cannot be rewound to an index is rewound to the last
 * checkpoint before it, or emptied.
 */
export class Slot {
  readonly tokens: Int32Array;
  length = 0;
  computed = 0;
  /** Length of the last prompt; the reply follows it. */
  promptLength = 0;
  /** Row of the batch with the last logits; undefined while tokens are left to compute. */
  logitsRow: number | undefined;
  /** Number of drafted tokens at the end: they have logits too, for their verification. */
  drafted = 0;
  /** The tokens before this index have logits too, for the logprobs of the prompt. */
  scored = 0;
  /** A generation runs here. */
  busy = false;
  /** When its last use began or ended. */
  usedAt = 0;
  #media: readonly MediumSpan[] = [];
  #inBatch = 0;
  /** Its first row in the batch. */
  #firstRow = 0;
  readonly #checkpoints: Checkpoints;
  /** Indices at which prefill stops for a checkpoint; undefined for a sequence without checkpoints. */
  #cuts: readonly number[] | undefined;
  #replyStart = 0;
  /** How many tokens were computed in the portions of a prompt (see `steadyPortion`). */
  #inPortions = 0;
  /** Where tokens were last removed from its middle. */
  #shiftedAt: number | undefined;
  /** Length of a copied prefix: in a pool, its cells are those of the other sequence. */
  #copied = 0;
  /** Its cached tokens before `park`. */
  #parked:
    | { readonly computed: number; readonly state: Uint8Array | undefined; readonly checkpoints: readonly Checkpoint[] }
    | undefined;
  #sequence: number;
  /** Another slot has its sequence. */
  #isAway = false;

  constructor(
    readonly context: Context,
    sequence: number,
    capacity: number,
    limits: CacheLimits = { count: checkpoints.maxCount, bytes: 2 ** 30 },
    /** Size of the steady portions; undefined if a batch may have any number of tokens. */
    readonly portion?: number,
  ) {
    // Shared with the sampler threads.
    this.tokens = new Int32Array(new SharedArrayBuffer(capacity * 4));
    this.#checkpoints = new Checkpoints(limits);
    this.#sequence = sequence;
  }

  get sequence(): number {
    return this.#sequence;
  }

  get capacity(): number {
    return this.tokens.length;
  }

  get remaining(): number {
    return this.length - this.computed;
  }

  /** The cells of a pool that are its own, with those that its prompt is going to take. */
  get cells(): number {
    return this.#parked ? 0 : Math.max(this.computed, this.busy ? this.length : 0) - this.#copied;
  }

  /** The tokens that a later prompt may share. */
  get cached(): Int32Array {
    return this.tokens.subarray(0, this.#reusable(this.computed));
  }

  get checkpoints(): { readonly count: number; readonly bytes: number } {
    return { count: this.#checkpoints.all.length, bytes: this.#checkpoints.bytes };
  }

  /** Whether tokens were removed from its middle: a story that loses its beginning turn by turn. */
  get shifted(): boolean {
    return this.#shiftedAt !== undefined;
  }

  /** How many of the first `index` tokens, all of them cached, would stay after a rewind to there. */
  reach(index: number): number {
    const end = this.#reusable(index);
    if (end >= this.computed) return this.computed;
    if (this.context.reaches(this.sequence, this.#position(end))) return end;
    return this.#checkpoints.upTo(end)?.index ?? 0;
  }

  /** The image or audio that must be computed before any more tokens. */
  get nextMedium(): MediumSpan | undefined {
    return this.#media.find(({ start }) => start === this.computed);
  }

  /** A generation begins. */
  take(now: number): void {
    this.busy = true;
    this.usedAt = now;
  }

  /** Copies the first `count` tokens of another slot, or as many of them as the memory can rewind to. */
  copyFrom(other: Slot, count: number): void {
    this.forgetFrom(0);
    if (!this.#copyMemory(other)) return;
    this.tokens.set(other.tokens.subarray(0, count));
    this.#media = other.#media.filter(({ start }) => start < count);
    this.#checkpoints.replace(other.#checkpoints.all);
    this.computed = other.computed;
    this.#inPortions = other.#inPortions;
    this.length = count;
    this.forgetFrom(count);
    if (this.context.memory === 'plain') this.#copied = this.computed;
  }

  /** Gives up all of its cells. */
  clear(): void {
    this.forgetFrom(0);
    this.length = 0;
  }

  /** Gives up its cells while a generation runs, until `resume`. What is larger than `maxBytes` is computed again. */
  park(maxBytes = Number.POSITIVE_INFINITY): void {
    const { computed } = this;
    // Libraries differ in what they save of media.
    const isSaved = this.#media.length === 0 && computed > 0 && this.#stateBytes <= maxBytes;
    const state = isSaved ? this.#state() : undefined;
    const checkpoints = this.#checkpoints.all;
    this.forgetFrom(0);
    this.#parked = { computed, state, checkpoints };
  }

  /** Takes cells again. What could not be saved or does not fit is computed again. */
  resume(): void {
    const parked = this.#parked;
    this.#parked = undefined;
    if (!parked?.state) return;
    if (!this.context.restore(this.sequence, parked.state, 'whole')) {
      this.context.forget(this.sequence, 0);
      return;
    }
    this.computed = parked.computed;
    this.#checkpoints.replace(parked.checkpoints);
  }

  /** Gives up its cells and its sequence, until `arrive`. */
  leave(maxBytes: number): void {
    this.park(maxBytes);
    this.#isAway = true;
  }

  arrive(sequence: number): void {
    this.#sequence = sequence;
    this.#isAway = false;
    this.resume();
  }

  get #stateBytes(): number {
    return this.context.stateBytes(this.sequence, 'whole');
  }

  /** The library delays a copy to the next batch, which would overwrite a restored checkpoint; with those it is copied at once. */
  #copyMemory(other: Slot): boolean {
    const { context, sequence } = this;
    if (context.memory === 'plain') {
      context.copy(other.sequence, sequence);
      return true;
    }
    const state = other.#state();
    if (state && context.restore(sequence, state, 'whole')) return true;
    context.forget(sequence, 0);
    this.length = 0;
    return false;
  }

  /** The computed tokens and their state; undefined with images or audio, which are not part of the snapshot. */
  snapshot(): Snapshot | undefined {
    if (!this.#canSnapshot) return undefined;
    const state = this.#state();
    return state && { tokens: this.cached.slice(), state, checkpoints: this.#checkpoints.all };
  }

  /** Undefined if it is larger than an array can be (4 GiB with Node 20) or than the memory. */
  #state(): Uint8Array | undefined {
    try {
      return this.context.state(this.sequence, 'whole');
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  /** The size of `snapshot`. */
  get snapshotFigures(): { readonly tokens: number; readonly bytes: number } {
    if (!this.#canSnapshot) return { tokens: 0, bytes: 0 };
    return { tokens: this.computed, bytes: this.#stateBytes + this.#checkpoints.bytes };
  }

  /** Not with partial portions, which cannot be reused, nor with restored cells of a window, which are summed in another order. */
  get #canSnapshot(): boolean {
    if (this.portion !== undefined && !this.context.savesAll) return false;
    return this.#media.length === 0 && this.computed > 0 && this.computed === this.#reusable(this.computed);
  }

  /** Restores a snapshot; if that fails, returns false and is empty. */
  restore({ tokens, state, checkpoints }: Snapshot): boolean {
    this.#media = [];
    this.forgetFrom(0);
    if (tokens.length > this.tokens.length || !this.context.restore(this.sequence, state, 'whole')) {
      this.context.forget(this.sequence, 0);
      this.length = 0;
      return false;
    }
    this.tokens.set(tokens);
    this.#checkpoints.replace(checkpoints);
    this.computed = tokens.length;
    this.#inPortions = tokens.length;
    this.length = tokens.length;
    this.promptLength = tokens.length;
    return true;
  }

  /** Begins a new prompt whose first `computed` tokens are cached. */
  begin(tokens: Int32Array, computed: number, media: readonly MediumSpan[] = []): void {
    this.tokens.set(tokens);
    this.#media = media;
    this.length = tokens.length;
    this.promptLength = tokens.length;
    this.scored = 0;
    this.#cuts = undefined;
    this.forgetFrom(this.#reusable(computed));
  }

  /** Plans checkpoints for the prompt that has just begun, if the memory needs them. */
  planCheckpoints(startsTurn: (index: number) => boolean): void {
    const { spare, memory } = this.context;
    this.#replyStart = this.length;
    if (memory === 'plain') return;
    const cuts = checkpointCuts({ from: this.computed, end: this.length, spare, startsTurn });
    this.#cuts = this.portion === undefined ? cuts : [...new Set(cuts.map((cut) => this.#border(cut)))];
  }

  append(token: number): void {
    this.tokens[this.length] = token;
    this.length += 1;
  }

  /** Adds up to `limit` remaining tokens to the batch; none beyond the next medium or checkpoint. */
  fill(limit: number): void {
    const medium = this.#media.find(({ start }) => start >= this.computed);
    const count = this.#countFor(limit, medium?.start ?? this.length);
    const last = this.length - 1;
    const shift = this.#position(this.computed) - this.computed;
    this.logitsRow = undefined;
    for (let index = this.computed; index < this.computed + count; index += 1) {
      const needsLogits = index >= last - this.drafted || index < this.scored;
      const row = this.context.add(this.tokens[index] as number, index + shift, this.sequence, needsLogits);
      if (index === this.computed) this.#firstRow = row;
      if (index === last) this.logitsRow = row;
    }
    this.#inBatch = count;
  }

  #countFor(limit: number, end: number): number {
    const { computed, length, promptLength, portion } = this;
    if (portion !== undefined) {
      return Math.min(steadyPortion({ size: portion, computed, length, promptLength }), end - computed);
    }
    const cut = this.#cuts?.find((index) => index > computed);
    if (cut === undefined) return Math.min(limit, end - computed);
    return portionOf(Math.min(end, cut) - computed, limit);
  }

  /** The tokens of the computed, unsettled batch, and the row of the first. */
  get batched(): { readonly from: number; readonly end: number; readonly firstRow: number } {
    return { from: this.computed, end: this.computed + this.#inBatch, firstRow: this.#firstRow };
  }

  /** Those of them that have prompt logprobs. */
  get scoredRows(): Slot['batched'] {
    const { from, end, firstRow } = this.batched;
    return { from, end: Math.max(from, Math.min(end, this.scored)), firstRow };
  }

  /** Computes the next medium; settled or rolled back like a batch. */
  async computeMedium({ start, chunk }: MediumSpan): Promise<DecodeResult> {
    this.logitsRow = undefined;
    const result = await this.context.decodeMedium(chunk, this.#position(start), this.sequence);
    this.#inBatch = chunk.ids.length;
    return result;
  }

  /** Adds drafted tokens; they are computed together with the last accepted token. */
  addDraft(tokens: Int32Array): void {
    this.tokens.set(tokens, this.length);
    this.length += tokens.length;
    this.drafted = tokens.length;
  }

  /** Removes the drafted tokens from the sequence; the cache keeps them until `dropRejected`. */
  withdrawDraft(): void {
    this.length -= this.drafted;
    this.drafted = 0;
  }

  /** Removes rejected drafted tokens from the cache. */
  dropRejected(): void {
    if (this.computed >= this.length) this.forgetFrom(this.length - 1);
  }

  /** Adds a padding token, so that this idle sequence is part of the batch (see `paddingSlots`). */
  addPadding(): void {
    this.context.add(0, this.#position(this.computed), this.sequence, false);
  }

  dropPadding(): void {
    this.context.forget(this.sequence, this.#position(this.computed));
  }

  /** The batch was computed. */
  settle(): void {
    const wasInPortions = this.computed === this.#inPortions;
    this.computed += this.#inBatch;
    if (wasInPortions && this.computed <= this.promptLength) this.#inPortions = this.computed;
    this.#inBatch = 0;
    if (this.#cuts && this.#isCheckpointDue(this.#cuts)) {
      const state = this.context.state(this.sequence, 'part');
      this.#checkpoints.add({ index: this.computed, state }, this.length, this.#replyStart);
    }
  }

  /** Not with drafted tokens, which may be rejected, and not if positions differ from indices. */
  #isCheckpointDue(cuts: readonly number[]): boolean {
    if (this.drafted > 0 || this.#position(this.computed) !== this.computed) return false;
    if (this.computed < this.#replyStart) return cuts.includes(this.computed);
    return (
      this.computed >= (this.#checkpoints.upTo(this.computed)?.index ?? this.#replyStart) + checkpoints.replyInterval
    );
  }

  /** The batch was not computed: it is unknown which of its tokens reached the cache, so all are removed. */
  rollback(): void {
    this.#inBatch = 0;
    this.withdrawDraft();
    this.forgetFrom(this.computed);
  }

  /** Rewinds to a shorter length; the last token is computed again, because its logits were overwritten. */
  rewind(length: number): void {
    this.length = length;
    this.forgetFrom(length - 1);
  }

  /** After the end: drops tokens that were sampled but not computed, and those that cannot be reused. */
  finish(now = this.usedAt): void {
    if (this.portion !== undefined) this.forgetFrom(this.#reusable(this.computed));
    this.length = this.computed;
    this.#parked = undefined;
    this.busy = false;
    this.usedAt = now;
  }

  /** Rewinds to an index, or to the nearest one before it that the memory can restore. */
  forgetFrom(index: number): void {
    if (index > this.computed) throw new Error('the cache holds less than was claimed');
    this.#rewindMemory(index);
    this.#copied = Math.min(this.#copied, this.computed);
    if (this.computed <= (this.#shiftedAt ?? -1)) this.#shiftedAt = undefined;
    // A portion without its end does not count.
    if (this.computed < this.#inPortions) this.#inPortions = this.#border(this.computed);
  }

  #rewindMemory(index: number): void {
    if (this.#isAway) return;
    const { context, sequence } = this;
    const position = this.#position(index);
    if (context.reaches(sequence, position) && context.forget(sequence, position)) {
      this.computed = index;
      this.#checkpoints.dropBehind(index);
      return;
    }
    const checkpoint = this.#checkpoints.upTo(index);
    const restored =
      checkpoint !== undefined &&
      context.restore(sequence, checkpoint.state, 'part') &&
      context.forget(sequence, this.#position(checkpoint.index));
    this.computed = restored ? checkpoint.index : 0;
    if (!restored) context.forget(sequence, 0);
    this.#checkpoints.dropBehind(this.computed);
  }

  /** How many of the first `index` tokens have the cache values that every prompt beginning with them would compute. */
  #reusable(index: number): number {
    return this.portion === undefined ? index : this.#border(Math.min(index, this.#inPortions));
  }

  /** The end of the last whole portion up to `index`; none ends inside a medium. */
  #border(index: number): number {
    if (this.portion === undefined) return index;
    const border = borderUpTo(index, this.portion);
    const around = this.#media.find(({ start, chunk }) => start < border && border < start + chunk.ids.length);
    return around ? this.#border(around.start) : border;
  }

  /** Removes tokens from the middle; not possible if positions differ from indices (see `MediumChunk`). */
  shift(from: number, count: number): boolean {
    if (this.#position(this.computed) !== this.computed) return false;
    if (!this.context.shift(this.sequence, from, count, this.computed)) return false;
    this.#checkpoints.dropBehind(from);
    this.#shiftedAt = from;
    this.tokens.copyWithin(from, from + count, this.computed);
    this.computed -= count;
    this.#media = this.#media.flatMap(({ start, chunk }) => {
      if (start < from) return [{ start, chunk }];
      return start < from + count ? [] : [{ start: start - count, chunk }];
    });
    return true;
  }

  /** The position of the token at `index`, which is not inside of a medium. */
  #position(index: number): number {
    let position = index;
    for (const { start, chunk } of this.#media) {
      if (start < index) position -= chunk.ids.length - chunk.positions;
    }
    return position;
  }
}
