import type { MediumSpan } from '../media/media-prompt.ts';
import { borderUpTo, portionOf, steadyPortion } from './batch-size.ts';
import type { Context, DecodeResult } from './context.ts';
import { type CheckpointLimits, Checkpoints, checkpointCuts, type Snapshot } from './snapshot.ts';

/** A reply that has grown by this much since the last checkpoint gives another one. */
const replyStep = 256;

/**
 * One sequence of the context: its tokens, and how many of them the cache holds. Reading a prompt and writing a reply are
 * the same to it: tokens that are not computed yet go into the next batch, and the last of them gives logits. Pictures and
 * sounds stand among the tokens; each is computed by itself, whole or not at all.
 *
 * Going back is its business too: where the memory cannot forget its end, it goes to the last checkpoint before the wanted
 * place, or to the very beginning. Then more is left to compute than was asked for, and nothing is wrong.
 */
export class Slot {
  readonly tokens: Int32Array;
  length = 0;
  computed = 0;
  /** How long the last prompt was; what follows it is a reply. */
  asked = 0;
  /** Where the logits of the last batch are; undefined while tokens are left to compute. */
  place: number | undefined;
  /** Tokens at the end that are only guessed: their logits are wanted too, to see how far the guess is right. */
  guessed = 0;
  /** The rows before this one give logits too, each for the token behind it: the prompt is to be scored. */
  scored = 0;
  /** A generation is at work here. */
  busy = false;
  /** When its last use began or ended, to find the one that can best be given up. */
  usedAt = 0;
  #media: readonly MediumSpan[] = [];
  #inBatch = 0;
  /** Where its rows begin in the batch. */
  #firstPlace = 0;
  readonly #checkpoints: Checkpoints;
  /** Where reading the prompt stops for a checkpoint; undefined for a text that gets none. */
  #cuts: readonly number[] | undefined;
  #replyStart = 0;
  /** How many tokens were computed in the portions of a prompt that begins with them (see `steady`). */
  #inPortions = 0;

  constructor(
    readonly context: Context,
    readonly sequence: number,
    capacity: number,
    limits: CheckpointLimits = { count: 8, bytes: 2 ** 30 },
    /** The size of steady portions; undefined where a batch may take as many tokens as it likes. */
    readonly portion?: number,
  ) {
    this.tokens = new Int32Array(capacity);
    this.#checkpoints = new Checkpoints(limits);
  }

  get capacity(): number {
    return this.tokens.length;
  }

  get remaining(): number {
    return this.length - this.computed;
  }

  /** The tokens that a later prompt may share. */
  get cached(): Int32Array {
    return this.tokens.subarray(0, this.#reusable(this.computed));
  }

  get checkpoints(): { readonly count: number; readonly bytes: number } {
    return { count: this.#checkpoints.all.length, bytes: this.#checkpoints.bytes };
  }

  /** How many of the first `index` tokens, which are all in the cache, could stay if the rest were forgotten. */
  reach(index: number): number {
    const place = this.#reusable(index);
    if (place >= this.computed) return this.computed;
    if (this.context.reaches(this.sequence, this.#position(place))) return place;
    return this.#checkpoints.upTo(place)?.index ?? 0;
  }

  /** The picture or sound that must be computed before any more tokens. */
  get nextMedium(): MediumSpan | undefined {
    return this.#media.find(({ start }) => start === this.computed);
  }

  /** A generation begins. */
  take(now: number): void {
    this.busy = true;
    this.usedAt = now;
  }

  /** Makes the first `count` tokens of another slot its own, or as many of them as the memory can go back to. */
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
  }

  /**
   * The library only notes a copy and makes it with the next batch. A checkpoint that is put back before that would be
   * overwritten, so a memory that may need one is copied at once.
   */
  #copyMemory(other: Slot): boolean {
    const { context, sequence } = this;
    if (context.memory === 'plain') {
      context.copy(other.sequence, sequence);
      return true;
    }
    const state = other.#state();
    if (state && context.restore(sequence, state)) return true;
    context.forget(sequence, 0);
    this.length = 0;
    return false;
  }

  /** Its computed tokens and their state; undefined with pictures or sounds, which could not be told apart later. */
  snapshot(): Snapshot | undefined {
    if (!this.#isKeepable) return undefined;
    const state = this.#state();
    return state && { tokens: this.cached.slice(), state, checkpoints: this.#checkpoints.all };
  }

  /** Undefined where it is larger than one piece of memory can be (4 GiB with Node 20), or than there is. */
  #state(): Uint8Array | undefined {
    try {
      return this.context.state(this.sequence);
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  /** What `snapshot` would give; nothing where it would give nothing. */
  get snapshotFigures(): { readonly tokens: number; readonly bytes: number } {
    if (!this.#isKeepable) return { tokens: 0, bytes: 0 };
    return { tokens: this.computed, bytes: this.context.stateBytes(this.sequence) + this.#checkpoints.bytes };
  }

  /**
   * With steady portions a running text holds what serves nobody else, and its state cannot be taken without that; and cells
   * that come back at other places than they had are added up in another order.
   */
  get #isKeepable(): boolean {
    if (this.portion !== undefined && !this.context.savesAll) return false;
    return this.#media.length === 0 && this.computed > 0 && this.computed === this.#reusable(this.computed);
  }

  /** Becomes what a snapshot holds; false if that cannot be put back, and then it is empty. */
  restore({ tokens, state, checkpoints }: Snapshot): boolean {
    this.#media = [];
    this.forgetFrom(0);
    if (tokens.length > this.tokens.length || !this.context.restore(this.sequence, state)) {
      this.context.forget(this.sequence, 0);
      this.length = 0;
      return false;
    }
    this.tokens.set(tokens);
    this.#checkpoints.replace(checkpoints);
    this.computed = tokens.length;
    this.#inPortions = tokens.length;
    this.length = tokens.length;
    this.asked = tokens.length;
    return true;
  }

  /** Begins a new text, of which the cache already holds the first `computed` tokens. */
  begin(tokens: Int32Array, computed: number, media: readonly MediumSpan[] = []): void {
    this.tokens.set(tokens);
    this.#media = media;
    this.length = tokens.length;
    this.asked = tokens.length;
    this.scored = 0;
    this.#cuts = undefined;
    this.forgetFrom(this.#reusable(computed));
  }

  /** Has checkpoints made of the text that has just begun, where the memory needs them. */
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

  /** Puts up to `limit` of the tokens that are left into the batch; none beyond the next picture, sound or checkpoint. */
  fill(limit: number): void {
    const medium = this.#media.find(({ start }) => start >= this.computed);
    const count = this.#countFor(limit, medium?.start ?? this.length);
    const last = this.length - 1;
    const shift = this.#position(this.computed) - this.computed;
    this.place = undefined;
    for (let index = this.computed; index < this.computed + count; index += 1) {
      const wanted = index >= last - this.guessed || index < this.scored;
      const place = this.context.add(this.tokens[index] as number, index + shift, this.sequence, wanted);
      if (index === this.computed) this.#firstPlace = place;
      if (index === last) this.place = place;
    }
    this.#inBatch = count;
  }

  #countFor(limit: number, end: number): number {
    const { computed, length, asked, portion } = this;
    if (portion !== undefined) {
      return Math.min(steadyPortion({ size: portion, computed, length, asked }), end - computed);
    }
    const cut = this.#cuts?.find((index) => index > computed);
    if (cut === undefined) return Math.min(limit, end - computed);
    return portionOf(Math.min(end, cut) - computed, limit);
  }

  /** The rows to be scored in the batch that was computed and is not settled yet: from, to, and where the first is. */
  get scoredRows(): { readonly from: number; readonly end: number; readonly place: number } {
    const end = Math.min(this.computed + this.#inBatch, this.scored);
    return { from: this.computed, end: Math.max(this.computed, end), place: this.#firstPlace };
  }

  /** Computes the picture or sound that is next; settled or rolled back like a batch. */
  async computeMedium({ start, chunk }: MediumSpan): Promise<DecodeResult> {
    this.place = undefined;
    const result = await this.context.decodeMedium(chunk, this.#position(start), this.sequence);
    this.#inBatch = chunk.ids.length;
    return result;
  }

  /** Adds tokens that may turn out to be wrong; they are computed with the last one that is certain. */
  guess(tokens: Int32Array): void {
    this.tokens.set(tokens, this.length);
    this.length += tokens.length;
    this.guessed = tokens.length;
  }

  /** The text without its guesses; what was computed of them stays until `dropWrong`. */
  withdrawGuesses(): void {
    this.length -= this.guessed;
    this.guessed = 0;
  }

  /** After some guesses were taken over: the cache forgets those that were not. */
  dropWrong(): void {
    if (this.computed >= this.length) this.forgetFrom(this.length - 1);
  }

  /** A token that means nothing, so that this sequence is part of a batch (see `bridges`); nobody else may fill it then. */
  addFiller(): void {
    this.context.add(0, this.#position(this.computed), this.sequence, false);
  }

  dropFiller(): void {
    this.context.forget(this.sequence, this.#position(this.computed));
  }

  /** The batch was computed. */
  settle(): void {
    const wasInPortions = this.computed === this.#inPortions;
    this.computed += this.#inBatch;
    if (wasInPortions && this.computed <= this.asked) this.#inPortions = this.computed;
    this.#inBatch = 0;
    if (this.#cuts && this.#isWorthKeeping(this.#cuts)) {
      this.#checkpoints.add({ index: this.computed, state: this.context.part(this.sequence) }, this.length);
    }
  }

  /** Guesses may still turn out wrong; and where positions are not places, nobody has tried to put a part back. */
  #isWorthKeeping(cuts: readonly number[]): boolean {
    if (this.guessed > 0 || this.#position(this.computed) !== this.computed) return false;
    if (this.computed < this.#replyStart) return cuts.includes(this.computed);
    return this.computed >= (this.#checkpoints.upTo(this.computed)?.index ?? this.#replyStart) + replyStep;
  }

  /** The batch was not computed; what part of it reached the cache is unknown, so it goes. */
  rollback(): void {
    this.#inBatch = 0;
    this.withdrawGuesses();
    this.forgetFrom(this.computed);
  }

  /** Back to a shorter text; the last token that stays is computed again, since its logits are gone. */
  rewind(length: number): void {
    this.length = length;
    this.forgetFrom(length - 1);
  }

  /** After the end: a token that was chosen but never computed is no use to anybody, nor is what cannot be reused. */
  finish(now = this.usedAt): void {
    if (this.portion !== undefined) this.forgetFrom(this.#reusable(this.computed));
    this.length = this.computed;
    this.busy = false;
    this.usedAt = now;
  }

  /** Goes back to a place, or as near before it as the memory can. */
  forgetFrom(index: number): void {
    if (index > this.computed) throw new Error('the cache holds less than was claimed');
    this.#goBack(index);
    // Of a portion that has lost its end, nothing counts.
    if (this.computed < this.#inPortions) this.#inPortions = this.#border(this.computed);
  }

  #goBack(index: number): void {
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
      context.restorePart(sequence, checkpoint.state) &&
      context.forget(sequence, this.#position(checkpoint.index));
    this.computed = restored ? checkpoint.index : 0;
    if (!restored) context.forget(sequence, 0);
    this.#checkpoints.dropBehind(this.computed);
  }

  /** How many of the first `index` tokens are as any other prompt that begins with them would have computed them. */
  #reusable(index: number): number {
    return this.portion === undefined ? index : this.#border(Math.min(index, this.#inPortions));
  }

  /** The end of the last whole portion up to here; none ends inside of a picture or sound. */
  #border(index: number): number {
    if (this.portion === undefined) return index;
    const border = borderUpTo(index, this.portion);
    const around = this.#media.find(({ start, chunk }) => start < border && border < start + chunk.ids.length);
    return around ? this.#border(around.start) : border;
  }

  /** Where positions are not places (see `MediumChunk`), the cache cannot be moved together. */
  shift(from: number, count: number): boolean {
    if (this.#position(this.computed) !== this.computed) return false;
    if (!this.context.shift(this.sequence, from, count, this.computed)) return false;
    this.#checkpoints.dropBehind(from);
    this.tokens.copyWithin(from, from + count, this.computed);
    this.computed -= count;
    this.#media = this.#media.flatMap(({ start, chunk }) => {
      if (start < from) return [{ start, chunk }];
      return start < from + count ? [] : [{ start: start - count, chunk }];
    });
    return true;
  }

  /** The position of the token at `index`, which is not inside a medium. */
  #position(index: number): number {
    let position = index;
    for (const { start, chunk } of this.#media) {
      if (start < index) position -= chunk.ids.length - chunk.positions;
    }
    return position;
  }
}
