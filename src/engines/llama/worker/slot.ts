import type { Snapshot } from './cache/snapshot.ts';
import type { Context, DecodeResult } from './context.ts';
import type { MediumSpan } from './medium.ts';

/**
 * One sequence of the context: its tokens, and how many of them the cache holds. Reading a prompt and writing a reply are
 * the same to it: tokens that are not computed yet go into the next batch, and the last of them gives logits. Pictures and
 * sounds stand among the tokens; each is computed by itself, whole or not at all.
 */
export class Slot {
  readonly tokens: Int32Array;
  length = 0;
  computed = 0;
  /** Where the logits of the last batch are; undefined while tokens are left to compute. */
  place: number | undefined;
  /** Tokens at the end that are only guessed: their logits are wanted too, to see how far the guess is right. */
  guessed = 0;
  /** A generation is at work here. */
  busy = false;
  /** When its last use began or ended, to find the one that can best be given up. */
  usedAt = 0;
  #media: readonly MediumSpan[] = [];
  #inBatch = 0;

  constructor(
    readonly context: Context,
    readonly sequence: number,
    capacity: number,
  ) {
    this.tokens = new Int32Array(capacity);
  }

  get capacity(): number {
    return this.tokens.length;
  }

  get remaining(): number {
    return this.length - this.computed;
  }

  /** The tokens that a later prompt may share. */
  get cached(): Int32Array {
    return this.tokens.subarray(0, this.computed);
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

  /** Makes the first `count` tokens of another slot its own. */
  copyFrom(other: Slot, count: number): void {
    this.forgetFrom(0);
    this.context.copy(other.sequence, this.sequence);
    this.tokens.set(other.tokens.subarray(0, count));
    this.#media = other.#media.filter(({ start }) => start < count);
    this.computed = other.computed;
    this.length = count;
    this.forgetFrom(count);
  }

  /** Its computed tokens and their state; undefined with pictures or sounds, which could not be told apart later. */
  snapshot(): Snapshot | undefined {
    if (this.#media.length > 0 || this.computed === 0) return undefined;
    return { tokens: this.cached.slice(), state: this.context.state(this.sequence) };
  }

  /** What `snapshot` would give; nothing where it would give nothing. */
  get snapshotFigures(): { readonly tokens: number; readonly bytes: number } {
    if (this.#media.length > 0 || this.computed === 0) return { tokens: 0, bytes: 0 };
    return { tokens: this.computed, bytes: this.context.stateBytes(this.sequence) };
  }

  /** Becomes what a snapshot holds; false if that cannot be put back, and then it is empty. */
  restore({ tokens, state }: Snapshot): boolean {
    this.#media = [];
    this.forgetFrom(0);
    if (tokens.length > this.tokens.length || !this.context.restore(this.sequence, state)) {
      this.context.forget(this.sequence, 0);
      this.length = 0;
      return false;
    }
    this.tokens.set(tokens);
    this.computed = tokens.length;
    this.length = tokens.length;
    return true;
  }

  /** Begins a new text, of which the cache already holds the first `computed` tokens. */
  begin(tokens: Int32Array, computed: number, media: readonly MediumSpan[] = []): void {
    this.tokens.set(tokens);
    this.#media = media;
    this.length = tokens.length;
    this.forgetFrom(computed);
  }

  append(token: number): void {
    this.tokens[this.length] = token;
    this.length += 1;
  }

  /** Puts up to `limit` of the tokens that are left into the batch; none beyond the next picture or sound. */
  fill(limit: number): void {
    const medium = this.#media.find(({ start }) => start >= this.computed);
    const count = Math.min(limit, (medium?.start ?? this.length) - this.computed);
    const last = this.length - 1;
    const shift = this.#position(this.computed) - this.computed;
    this.place = undefined;
    for (let index = this.computed; index < this.computed + count; index += 1) {
      const wanted = index >= last - this.guessed;
      const place = this.context.add(this.tokens[index] as number, index + shift, this.sequence, wanted);
      if (index === last) this.place = place;
    }
    this.#inBatch = count;
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
    this.computed += this.#inBatch;
    this.#inBatch = 0;
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

  /** After the end: a token that was chosen but never computed is no use to anybody. */
  finish(now = this.usedAt): void {
    this.length = this.computed;
    this.busy = false;
    this.usedAt = now;
  }

  forgetFrom(index: number): void {
    if (!this.context.forget(this.sequence, this.#position(index))) {
      this.context.forget(this.sequence, 0);
      this.computed = 0;
      return;
    }
    this.computed = Math.min(this.computed, index);
    if (index > this.computed) throw new Error('the cache holds less than was claimed');
  }

  /** Where positions are not places (see `MediumChunk`), the cache cannot be moved together. */
  shift(from: number, count: number): boolean {
    if (this.#position(this.computed) !== this.computed) return false;
    if (!this.context.shift(this.sequence, from, count, this.computed)) return false;
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
