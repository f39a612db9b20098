import type { Context } from '../context.ts';
import { commonPrefix } from '../reuse.ts';

export interface DraftModelParts {
  readonly context: Pick<Context, 'batchCapacity' | 'clearBatch' | 'add' | 'decodeNow' | 'logits' | 'forget'>;
  readonly contextSize: number;
  /** The tokens that both models know are those below this. */
  readonly sharedTokens: number;
  readonly isEnd: (token: number) => boolean;
}

const nothing = new Int32Array(0);

/**
 * A small model that follows the text of a large one and says how it would go on. It keeps what it has computed and goes
 * back only as far as the text has changed, so that several chats in turn are followed as well as one.
 */
export class DraftModel {
  readonly #tokens: Int32Array;
  #computed = 0;

  constructor(private readonly parts: DraftModelParts) {
    this.#tokens = new Int32Array(parts.contextSize);
  }

  /**
   * The tokens that it finds most likely, up to `most`. It reads at most one batch of unknown text each time and guesses
   * nothing until it has caught up: a long prompt must not hold up the text that is being written behind it.
   */
  propose(tokens: Int32Array, length: number, most: number): Int32Array {
    const count = Math.min(most, this.parts.contextSize - length);
    if (count <= 0 || length === 0) return nothing;
    const text = tokens.subarray(0, length);
    const cached = this.#tokens.subarray(0, this.#computed);
    // The last token is computed again in any case: its logits are gone.
    this.#keep(Math.min(commonPrefix(cached, text), length - 1));
    let place = this.#read(text.subarray(this.#computed, this.#computed + this.parts.context.batchCapacity));
    if (place === undefined || this.#computed < length) return nothing;
    const guesses: number[] = [];
    for (;;) {
      const token = likeliest(this.parts.context.logits(place), this.parts.sharedTokens);
      // Behind the end of a text there is nothing to guess.
      if (this.parts.isEnd(token)) break;
      guesses.push(token);
      if (guesses.length >= count) break;
      place = this.#read(Int32Array.of(token));
      if (place === undefined) break;
    }
    return Int32Array.from(guesses);
  }

  /** Computes more text; the place of its last logits, or undefined where it cannot be followed. */
  #read(tokens: Int32Array): number | undefined {
    const { context, sharedTokens } = this.parts;
    if (tokens.some((token) => token >= sharedTokens)) return undefined;
    context.clearBatch();
    let place = 0;
    for (const [index, token] of tokens.entries()) {
      place = context.add(token, this.#computed + index, 0, index === tokens.length - 1);
    }
    if (context.decodeNow() !== 'ok') {
      this.#keep(0);
      return undefined;
    }
    this.#tokens.set(tokens, this.#computed);
    this.#computed += tokens.length;
    return place;
  }

  #keep(count: number): void {
    this.#computed = this.parts.context.forget(0, count) ? count : 0;
    if (this.#computed !== count) this.parts.context.forget(0, 0);
  }
}

function likeliest(logits: Float32Array, end: number): number {
  let best = 0;
  for (let token = 1; token < end; token += 1) {
    if ((logits[token] as number) > (logits[best] as number)) best = token;
  }
  return best;
}
